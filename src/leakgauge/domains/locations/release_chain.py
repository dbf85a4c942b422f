"""The release chain: noise on true counts, rounding, clamping and suppression, with exact probabilities.

Noise may be continuous or rounded down. The distribution of the published counts is exact, and so are their
tail probabilities, mean and variance. A pipeline written by the user may take the place of the chain.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.domains.locations.counts.release_distribution import OutputPart
from leakgauge.mechanisms import mechanism_names, name_of
from leakgauge.mechanisms._additive import AdditiveNoise, adds_noise, is_additive
from leakgauge.mechanisms._count_noise import CountNoise, IntegerOutputs, UnroundedNoise
from leakgauge.referee.ratio_calibration import ratio_calibration
from leakgauge.support.global_rng import seeded_global_generators
from leakgauge.support.user_code import error_with_location

_ROWS = 256  # counts whose outputs are tabulated at once
_STATES = 5  # of the random generator, from which tables with and without a target are compared
_DRAWS = 64  # tables that show the noise
# Of sums of 64 independent noises the variance is so far from the sum of variances once in 1e9 tables.
_LEAST_VARIANCE, _MOST_VARIANCE = 0.2, 3.0
_FITTED = 20_000  # outputs that are compared with a stated distribution
_LAW_CHECK_LEVEL = 1e-6  # of refusing a distribution that does fit
_FEWEST_SUMMED = 4  # cells of a sum; one noise with long tails decides the variance of fewer
_OFTEN = (
    0.25  # of the tables in which a summed cell differs from its median, so that rare values decide nothing
)
_OWN_GENERATOR = (
    "cells in which the target never was: the release draws random numbers of its own, so they cannot be "
    "compared; use the generator that it is given"
)
_ELSEWHERE = "cells in which the target never was, which change with it"
_WITHOUT_NOISE = "cells that are published as they are, while others have noise"
_SUMS = (
    "sums of cells, whose noise is not independent: attacks read cells one by one, and whoever compares or "
    "adds up cells may see the true counts"
)

UserPipeline: TypeAlias = Callable[[Any, Generator], Any]
UserLogProbability: TypeAlias = Callable[[Reals, Reals], Reals]


@dataclass(frozen=True)
class NoNoise:
    """No noise at all."""

    between = IntegerOutputs()
    reach = 0

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return np.array(counts, dtype=np.float64)

    def log_at(self, distances: Reals) -> Reals:
        return np.where(distances == 0, 0.0, -np.inf)

    def log_at_most(self, distances: Reals) -> Reals:
        return np.where(distances >= 0, 0.0, -np.inf)

    def log_at_least(self, distances: Reals) -> Reals:
        return np.where(distances <= 0, 0.0, -np.inf)


def has_dependent_noise(tables: Reals) -> bool:
    """Whether a sum over all cells, a place or an epoch varies far less or more than its cells allow.

    ``tables`` are draws of one table: draws x places x epochs.
    """
    often = (tables != np.median(tables, axis=0)).mean(axis=0) >= _OFTEN
    cells = np.where(often, tables - tables.mean(axis=0), 0.0)
    variances = cells.var(axis=0)
    for axes in ((0, 1), (0,), (1,)):
        summed, expected = (
            cells.sum(axis=tuple(axis + 1 for axis in axes)).var(axis=0),
            variances.sum(axis=axes),
        )
        enough = often.sum(axis=axes) >= _FEWEST_SUMMED
        if (enough & ((summed < _LEAST_VARIANCE * expected) | (summed > _MOST_VARIANCE * expected))).any():
            return True
    return False


def count_noise_of(mechanism: Mechanism | None, *, rounded: bool) -> CountNoise:
    """Return the noise of a mechanism on whole counts, rounded down or not; no mechanism, no noise."""
    if mechanism is None:
        return NoNoise()
    if not is_additive(mechanism):
        raise BadInput(
            f"counts per place: {name_of(mechanism)!r} does not add noise to every count; use one of "
            f"{', '.join(mechanism_names(adds_noise))}"
        )
    return mechanism.rounded() if rounded or mechanism.lattice else UnroundedNoise(mechanism)


@dataclass(frozen=True)
class NoiseAtMost:
    """The noisy count is at most a place: it was clamped from below, or suppressed."""

    noise: CountNoise
    between = IntegerOutputs()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_most(distances)


@dataclass(frozen=True)
class NoiseAtLeast:
    """The noisy count is at least a place: it was clamped from above."""

    noise: CountNoise
    between = IntegerOutputs()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_least(distances)


@dataclass(frozen=True, kw_only=True)
class ReleaseChain:
    """Adds noise to counts, rounds them down, clamps them to [0, group_size] and suppresses the small ones.

    Each step but the noise is optional, the order is fixed. Outputs of at most ``suppress`` become 0; with
    ``suppress = 0`` nothing is suppressed, and without a clamp small counts may then come out negative.
    Counts are whole numbers. ``noise`` is any additive mechanism; None publishes raw counts.

    >>> chain = ReleaseChain(noise=None, group_size=9, suppress=2)
    >>> chain.sample(np.arange(5), np.random.default_rng(0)).tolist()
    [0.0, 0.0, 0.0, 3.0, 4.0]
    """

    noise: AdditiveNoise | None
    group_size: int
    round: bool = False
    clamp: bool = False
    suppress: int = 0

    def __post_init__(self) -> None:
        for name, least in (("group_size", 1), ("suppress", 0)):
            value = getattr(self, name)
            if not (least <= value < np.inf and value == int(value)):
                raise BadInput(f"mechanism: {name} must be a whole number >= {least}, got {value}")
        count_noise_of(self.noise, rounded=self.round)

    @cached_property
    def added(self) -> CountNoise:
        """The noise, as rounded as it is published."""
        return count_noise_of(self.noise, rounded=self.round)

    @property
    def whole(self) -> bool:
        """Whether outputs are whole numbers: rounded, noise on a lattice, or raw."""
        return isinstance(self.added.between, IntegerOutputs)

    @property
    def shift_free(self) -> bool:
        """Whether the distribution depends on output minus count alone, whatever the output."""
        return not (self.clamp or self.suppress)

    @property
    def lumps_below(self) -> int | None:
        """What is at most this is published as 0, if anything is."""
        return None if self.shift_free else int(self.suppress)

    @property
    def lumps_above(self) -> int | None:
        """What is at least this is published as this, if anything is."""
        return int(self.group_size) if self.clamp else None

    @property
    def mute(self) -> bool:
        """Whether everything is suppressed."""
        return self.clamp and self.suppress >= self.group_size

    def sample(self, counts: npt.ArrayLike, rng: Generator) -> Reals:
        """Publish counts: any shape, whole numbers. The noise does not depend on the counts."""
        true = np.asarray(counts)
        if true.dtype.kind not in "iub" and not (true == np.floor(true)).all():
            raise BadInput("counts must be whole numbers before they are published")
        published = self.added.added_to(true, rng)
        if self.clamp:
            np.clip(published, 0.0, self.group_size, out=published)
        if self.suppress:
            np.copyto(published, 0.0, where=published <= self.suppress)
        return published

    def log_law(self, outputs: npt.ArrayLike, counts: npt.ArrayLike) -> Reals:
        """Log probability of outputs, or log density where they vary continuously; -inf where impossible.

        Without rounding, outputs of exactly 0 and ``group_size`` after a clamp, and of 0 after suppression,
        have a probability; all others a density. The arguments broadcast.
        """
        seen, true = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(counts, dtype=np.float64)
        )
        if self.shift_free and not self.whole:
            return self.added.log_at(seen - true)
        law = np.full(seen.shape, -np.inf)
        if self.mute:
            law[seen == 0] = 0.0
        for part in self.parts(seen):
            law[part.rows] = part.law.log_at(part.places - true[part.rows])
        return law

    def parts(self, outputs: Reals) -> tuple[OutputPart, ...]:
        """The outputs that were only moved by noise, those lumped together at 0, and those at the top.

        The distribution of each part moves with the count. Impossible and certain outputs are in none.
        """
        if self.mute:
            return ()
        low, high = self.lumps_below, self.lumps_above
        plain = np.isfinite(outputs)
        if self.whole:
            plain &= outputs == np.floor(outputs)
        parts = []
        if low is not None:
            rows = outputs == 0
            parts.append(OutputPart(rows, np.full(int(rows.sum()), float(low)), NoiseAtMost(self.added), low))
            plain &= outputs > low
        if high is not None:
            rows = outputs == high
            parts.append(OutputPart(rows, outputs[rows], NoiseAtLeast(self.added), high))
            plain &= outputs < high
        return OutputPart(plain, outputs[plain], self.added), *parts

    def table(self, counts: Ints) -> tuple[Reals, Reals]:
        """The outputs that occur with these counts, in rising order, and P[count, output]; whole chains only.

        Where nothing lumps them, outputs so far out that their chance is below 1e-17 are added to the ends.
        """
        if not self.whole:
            raise BadInput("a table of outputs needs whole outputs; set round = true")
        true = np.asarray(counts, dtype=np.int64)
        low, high = int(true.min()) - self.added.reach, int(true.max()) + self.added.reach
        if self.lumps_below is not None:
            low = max(low, self.lumps_below)
        if self.lumps_above is not None:
            high = min(high, self.lumps_above)
        if high <= low:
            lumped = self.lumps_below is not None and high <= self.lumps_below
            return np.array([0.0 if lumped else min(low, high)], dtype=np.float64), np.ones((true.size, 1))
        places = np.arange(low, high + 1)
        span = np.arange(low - int(true.max()), high - int(true.min()) + 1)
        law = np.exp(self.added.log_at(span.astype(np.float64)))[places - true[:, None] - span[0]]
        law[:, 0] = np.exp(self.added.log_at_most((low - true).astype(np.float64)))
        law[:, -1] = np.exp(self.added.log_at_least((high - true).astype(np.float64)))
        outputs = places.astype(np.float64)
        if low == self.lumps_below:
            outputs[0] = 0.0
        return outputs, law


@dataclass(frozen=True)
class OutputDistribution:
    """The distribution of a chain's outputs as threshold rules see it.

    Every step after the noise keeps the order of outputs, so that an output reaches a cut where the noisy
    count reaches a place that depends on the cut alone.
    """

    chain: ReleaseChain

    @property
    def whole(self) -> bool:
        return self.chain.whole

    def at_least(self, cuts: Reals, counts: Ints) -> Reals:
        """Chance of an output of at least the cut; the arguments broadcast."""
        low, high = self.chain.lumps_below, self.chain.lumps_above
        places = np.ceil(cuts) if self.whole else np.asarray(cuts)
        if low is not None:
            places = np.maximum(places, low + self.whole)
        chances = np.exp(self.chain.added.log_at_least(places - counts.astype(np.float64)))
        if self.chain.mute:
            chances[:] = 0.0
        if high is not None:
            chances = np.where(cuts > high, 0.0, chances)
        return chances if low is None else np.where(np.less_equal(cuts, 0), 1.0, chances)

    def moments(self, counts: Ints) -> tuple[Reals, Reals]:
        """Mean and variance of the output."""
        if self.chain.mute:
            return np.zeros(counts.shape), np.zeros(counts.shape)
        noise = self.chain.noise
        if self.whole or noise is None:
            return self._whole_moments(counts)
        if self.chain.shift_free:
            _, _, square = noise.partial_moments(np.zeros(1))
            return counts.astype(np.float64), np.full(counts.shape, 2 * float(square[0]))
        return self._lumped_moments(noise, counts)

    def _whole_moments(self, counts: Ints) -> tuple[Reals, Reals]:
        if self.chain.shift_free:
            mean, variance = _moments(*self.chain.table(np.zeros(1, dtype=np.int64)))
            return counts + mean[0], np.full(counts.shape, variance[0])
        parts = [counts[first : first + _ROWS] for first in range(0, counts.size, _ROWS)]
        mean, variance = np.hstack([_moments(*self.chain.table(part)) for part in parts])
        return mean, variance

    def _lumped_moments(self, noise: AdditiveNoise, counts: Ints) -> tuple[Reals, Reals]:
        """Of a noisy count x that is published as 0 up to ``low`` and as ``high`` from there on.

        E x = low P(x > low) + E (x - low)+ - E (x - high)+, and the like for squares.
        """
        low, high = float(self.chain.lumps_below or 0), self.chain.lumps_above
        true = counts.astype(np.float64)
        chance, excess, square = noise.partial_moments(low - true)
        mean = low * chance + excess
        second = low**2 * chance + 2 * low * excess + square
        if high is not None:
            _, excess, square = noise.partial_moments(high - true)
            mean, second = mean - excess, second - square - 2 * high * excess
        return mean, np.maximum(second - mean**2, 0.0)


def _moments(outputs: Reals, law: Reals) -> tuple[Reals, Reals]:
    centre = outputs[outputs.size // 2]  # squares of small numbers
    mean = law @ (outputs - centre)
    return mean + centre, np.maximum(law @ (outputs - centre) ** 2 - mean**2, 0.0)


@dataclass(frozen=True, eq=False)
class UserReleaseChain:
    """Calls ``release(counts, rng)`` once per round, with a table of places x epochs; checks the answer.

    If there are several ``releases``, of so many epochs each, it is called once for each of them.
    ``law(outputs, counts)``, where it is given, is the log probability (or density) of single outputs;
    ``whole`` says whether they are whole numbers.
    """

    release: UserPipeline
    n_places: int
    n_epochs: int
    law: UserLogProbability | None = None
    whole: bool = True
    releases: tuple[int, ...] = ()  # the number of epochs of each

    def sample(self, counts: Any, rng: Generator) -> Reals:
        """Publish every row of counts, each over all cells."""
        rows = np.asarray(counts, dtype=np.float64).reshape(-1, self.n_places, self.n_epochs)
        published = np.empty_like(rows)
        with seeded_global_generators(rng), redirect_stdout(sys.stderr):
            for i, row in enumerate(rows):
                for epochs in self._epochs:
                    published[i][:, epochs] = self._publish(row[:, epochs], rng)
        return published.reshape(np.shape(counts))

    @property
    def _epochs(self) -> list[slice]:
        ends = np.cumsum([0, *(self.releases or (self.n_epochs,))]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def require_use_of_counts(self, group_size: int) -> None:
        """Refuse a pipeline that publishes the same for an empty table and for one full of people."""
        tables = (np.full((1, self.n_places * self.n_epochs), float(n)) for n in (0, group_size))
        empty, full = (self.sample(table, np.random.default_rng(0)) for table in tables)
        if np.array_equal(empty, full):
            raise BadInput(
                f"mechanism.release: publishes the same if every count is 0 and if every count is "
                f"{group_size}: it ignores its counts, or suppresses all of them; check it"
            )

    def unread_cells(self, counts: Reals, targets: Reals) -> tuple[str, ...]:
        """Compare tables with and without each target at equal random numbers, where the target never was.

        ``counts`` is one row without any target, and ``targets`` are their rows. Attacks read the cells of
        the target alone, which is all there is where noise is added to each count by itself.
        """

        def publish(row: Reals, state: int) -> Reals:
            return self.sample(row, np.random.default_rng(state))

        for state, target in product(range(_STATES), targets):
            without, elsewhere = publish(counts, state), target == 0
            if not np.array_equal(without[:, elsewhere], publish(counts, state)[:, elsewhere]):
                return (_OWN_GENERATOR,)
            if not np.array_equal(without[:, elsewhere], publish(counts + target, state)[:, elsewhere]):
                return (_ELSEWHERE,)
        self._require_fit(counts)
        tables = np.array([publish(counts, state)[0] for state in range(_DRAWS)])
        noisy = tables.std(axis=0) > 0
        exact = ~noisy & (tables[0] == counts[0]) & (counts[0] > 0)
        found = (_WITHOUT_NOISE,) if noisy.any() and exact.any() else ()
        shape = (self.n_places, self.n_epochs)
        return (*found, _SUMS) if has_dependent_noise(tables.reshape(-1, *shape)) else found

    def _require_fit(self, counts: Reals) -> None:
        """Refuse a distribution that the draws contradict: to each count 1 is added by a fair coin."""
        if self.law is None:
            return
        rng = np.random.default_rng(0)
        added = rng.random((_DRAWS, counts.size)) < 0.5
        seen = np.concatenate([self.sample(counts + row, rng) for row in added])
        places = rng.integers(seen.size, size=min(seen.size, _FITTED))
        outputs, first = seen.ravel()[places], np.tile(counts.ravel(), _DRAWS)[places]
        with np.errstate(invalid="ignore"):
            ratios = self.log_law(outputs, first + 1) - self.log_law(outputs, first)
        test = ratio_calibration(ratios, added.ravel()[places])
        if test.p_value < _LAW_CHECK_LEVEL:
            raise BadInput(
                f"mechanism.law: is not the distribution of the release: {test.finding}; correct one of "
                "them, or leave law out"
            )

    def log_law(self, outputs: Reals, counts: Reals) -> Reals:
        if self.law is None:
            raise BadInput(
                "the noise distribution of your own pipeline is not known; set mechanism.law, or let the "
                "attack estimate it"
            )
        seen, true = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(counts, dtype=np.float64)
        )
        try:
            law = np.asarray(self.law(seen, true), dtype=np.float64)
        except (Exception, SystemExit) as error:
            raise BadInput(f"mechanism.law raised {error_with_location(error)}") from error
        if law.shape != seen.shape or np.isnan(law).any():
            raise BadInput(
                f"mechanism.law: must return the log probability of each of {seen.size} outputs, -inf where "
                f"impossible; got {law.size} numbers, {int(np.isnan(law).sum())} of them not a number"
            )
        return law

    def _publish(self, row: Reals, rng: Generator) -> Reals:
        try:
            published = np.asarray(self.release(row.copy(), rng), dtype=np.float64)
        except (Exception, SystemExit) as error:
            raise BadInput(f"mechanism.release raised {error_with_location(error)}") from error
        if published.shape != row.shape:
            raise BadInput(
                f"mechanism.release: got {row.shape[0]} x {row.shape[1]} counts and returned "
                f"{published.shape}; it must return as many"
            )
        if not np.isfinite(published).all():
            raise BadInput(
                "mechanism.release: returned a number that is not finite; publish 0 for what is suppressed"
            )
        return published
