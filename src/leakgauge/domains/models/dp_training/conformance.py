"""Compares the steps of watched trainings with their claim: sampler, clipping, accountant and noise.

What the transcript shows by itself is certain. The size and independence of the noise, and guesses about the
canary, are tests. Epsilons of the whole training are those of the accounting, and labelled model-based.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Transcript
from leakgauge.domains.models.dp_training import replay
from leakgauge.domains.models.dp_training.claim import TrainingClaim
from leakgauge.domains.models.dp_training.plan_tables import CanaryCoin, read_dp_training_table
from leakgauge.domains.models.dp_training.transcript import TrainingSteps, read_transcripts
from leakgauge.domains.models.training.schedule import BatchSampling
from leakgauge.mechanisms import gaussian
from leakgauge.referee import noisy_steps
from leakgauge.referee.conformance import Conformance
from leakgauge.referee.noise_tests import CERTAIN, NoiseTest
from leakgauge.referee.reused_noise import reused_noise
from leakgauge.referee.stated_noise import Rounding

MODEL_BASED = "model-based: by the accountant, for an attacker who sees every step"
MOST_COMPARED = 500  # steps whose noise is compared value by value
FEWEST_REPEATED = 8  # values of the noise that two trainings must have in common
COARSEST = 1 / 16  # of the noise: a coarser grid says little about values that occur again
SPACINGS = 16  # of the numbers that a training computes with, to which noise is rounded at least
GRID = 2.0**-14  # of the noise, to which it is rounded before values are compared: tensors have few digits
LONGER = 1.001  # clips: a longer influence is no rounding
FEWEST_STEPS = 20  # of which batch sizes are compared
_ROUNDING = 1e-9
SHOWN_ERROR = 0.05  # of the bound on the noise that a sentence names


def compare_transcripts(
    transcripts: Sequence[Transcript],
    *,
    challenger: dict[str, Any],
    mechanism: dict[str, Any],  # noqa: ARG001 (the training has its noise itself)
    folder: Path,  # noqa: ARG001 (no file is read)
) -> Conformance:
    """Compare what was seen of all trainings with the claim of a plan."""
    options, claim = read_dp_training_table(challenger)
    coin = None if options.canaries is not None else options.coin
    trainings = read_transcripts(transcripts)
    found = _TrainingComparison(trainings, _with_recorded_rate(claim, trainings), coin)
    replayed = sorted(
        {(str(kind), str(text)) for part in transcripts for kind, text in part.get("replay", ())}
    )

    def seen(*kinds: str) -> tuple[str, ...]:
        return tuple(text for kind, text in replayed if kind in kinds)

    before = (replay.BEFORE,) if options.pretrained is None else ()
    return Conformance(
        certain=(*found.violations(), *seen(replay.CERTAIN)),
        departures=(*found.departures(), *seen(replay.DEPARTURE, *before)),
        tests=tuple(found.tests()),
        dependent=found.dependent,
        unread=seen(replay.UNREAD),
    )


def _repetition(values: Reals, step: float) -> str:
    """Why values of the noise, steps x coordinates on a grid, occur again: what a finding says."""
    present, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    sizes, counts = np.abs(present[counts > 1]), counts[counts > 1]
    columns = [np.unique(np.nonzero(np.abs(values) == size)[1]).size for size in sizes]
    largest, near = float(np.nanmax(np.abs(values))), 3 * step
    if counts[sizes <= near].sum() > counts.sum() / 2:
        return "noise is missing in some steps or coordinates, where the sum is released as it is"
    if counts[np.array(columns) > 1].sum() <= counts.sum() / 2:
        return "the same noise is in several steps, so that the difference of two sums has none"
    if counts[sizes >= largest - near].sum() > counts.sum() / 2:
        return f"the noise is truncated at {largest:.3g} times the clip, so that farther sums are ruled out"
    return "the noise is rounded to few values, so that the rest of a noisy sum shows the sum before it"


def _with_recorded_rate(claim: TrainingClaim, trainings: Sequence[TrainingSteps]) -> TrainingClaim:
    """The claim at the rate that all accountants recorded, where it is a little smaller.

    Opacus samples at 1 / (number of batches): 1/16 for batches of 64 of 1,000 rows, though their share is
    0.064.
    """
    rates = {
        rate for one in trainings for rate in (one.accounted.rates if one.accounted is not None else (1.0,))
    }
    smallest = 1 / math.ceil(1 / claim.sample_rate * (1 - _ROUNDING))
    if not rates or min(rates) < smallest * (1 - _ROUNDING) or max(rates) >= claim.sample_rate:
        return claim
    return replace(claim, sample_rate=max(rates))


@dataclass(frozen=True, eq=False)
class _TrainingComparison:
    """The trainings of an audit beside the claim; ``coin`` is None where no gradient canary was used."""

    trainings: list[TrainingSteps]
    claim: TrainingClaim
    coin: CanaryCoin | None

    def violations(self) -> Iterator[str]:
        """What shows a larger epsilon, or that nothing bounds it, without statistics."""
        influence = self._most("influence")
        if influence > LONGER:
            yield (
                f"One gradient moved the clipped sum of a step by {influence:.3g} times the clip, and the "
                "noise is for 1: gradients are not clipped one by one."
            )
        yield from self._accounting_violations()

    def _accounting_violations(self) -> Iterator[str]:
        claim = self.claim
        stated = claim.noise_multiplier
        if stated is not None and (least := claim.epsilon_of(stated, least=True)) > claim.epsilon:
            yield (
                f"The stated noise multiplier {stated:.4g} gives ε = {least:.3g} or more in {claim.steps:,} "
                f"steps ({MODEL_BASED}), and {claim.epsilon:g} is claimed."
            )
        taken = max((one.n_steps for one in self.trainings), default=0)
        if taken > claim.steps:
            least = claim.epsilon_of(self._largest_sigma, taken, least=True)
            if least > claim.epsilon:
                yield (
                    f"A training took {taken:,} noisy steps, and the claim is for {claim.steps:,}: that is ε "
                    f"= {least:.3g} or more ({MODEL_BASED}), and {claim.epsilon:g} is claimed."
                )
        rate = self._least_rate
        if (least := self._epsilon_at(rate)) > claim.epsilon and rate > claim.sample_rate * LONGER:
            yield (
                f"Batches hold at least {rate:.3g} of the rows, and the claim and its accounting are for "
                f"{claim.sample_rate:.3g}: that is ε = {least:.3g} or more ({MODEL_BASED}), and "
                f"{claim.epsilon:g} is claimed."
            )
        if (sigma := self._accounted_sigma) is not None and stated is None:
            least = claim.epsilon_of(sigma, least=True)
            if least > claim.epsilon:
                yield (
                    f"The accountant of the training recorded a noise multiplier of {sigma:.4g}. In "
                    f"{claim.steps:,} steps this gives ε = {least:.3g} or more ({MODEL_BASED}), and "
                    f"{claim.epsilon:g} is claimed."
                )

    def departures(self) -> Iterator[str]:
        """What is certainly not as stated, though it shows no larger epsilon."""
        if not self._most("influence") > LONGER and self._most("clipped_otherwise") > 0:
            yield (
                "The sum that gets noise is not that of gradients clipped one by one to the stated length, "
                "so that nothing is known about the influence of one record."
            )
        yield from self._accountant_departures()
        if self._goes_on:
            yield (
                f"The training goes on after the {self.claim.steps:,} steps of the claim, and the audit saw "
                "only these; state all steps that it takes."
            )
        if self.claim.sampling is BatchSampling.POISSON and self._constant_batches < CERTAIN:
            yield (
                "The claim is accounted for Poisson batches, whose sizes vary, and batches have a constant "
                "size: they are shuffled or drawn otherwise, and the accountant says nothing about that. "
                f"Accounted for shuffling, ε is at most {self._shuffled_epsilon:.3g} where a record is "
                "replaced (an upper bound; the true value may be far smaller)."
            )
        if self._divided_by_batch:
            yield (
                "The noisy sum is divided by the actual number of examples in the batch, which reveals it; "
                "divide by the expected number."
            )

    @property
    def _goes_on(self) -> bool:
        """Whether a training was ended when it began a step beyond those of the claim."""
        return any(not one.complete and one.n_steps == self.claim.steps for one in self.trainings)

    def _accountant_departures(self) -> Iterator[str]:
        for one in self.trainings:
            if not one.complete or one.accounted is None:
                continue
            recorded = sum(one.accounted.steps)
            if recorded < one.n_steps:
                yield (
                    f"The accountant recorded {recorded:,} of {one.n_steps:,} noisy steps of a training: the "
                    "ε that it reports is too small."
                )
                return
        seen, claim = self._least_rate, self.claim
        if seen > claim.sample_rate * LONGER and not self._epsilon_at(seen) > claim.epsilon:
            yield (
                f"Batches hold at least {seen:.3g} of the rows, and the claim is for {claim.sample_rate:.3g}."
            )
        rates = [rate for one in self.trainings if one.accounted is not None for rate in one.accounted.rates]
        smallest = 1 / math.ceil(1 / self.claim.sample_rate * (1 - _ROUNDING))
        if rates and min(rates) < smallest / LONGER:
            low = replace(self.claim, sample_rate=min(rates)).epsilon_of(self._largest_sigma)
            yield (
                f"The accountant recorded a sample rate of {min(rates):.4g}, below the "
                f"{self.claim.sample_rate:.4g} of the claim: the ε = {low:.3g} that it reports is too small."
            )
        if rates and max(rates) > self.claim.sample_rate * LONGER:
            yield (
                f"The accountant recorded a sample rate of {max(rates):.4g}, and the claim is for "
                f"{self.claim.sample_rate:.4g}."
            )

    def tests(self) -> Iterator[NoiseTest]:
        """The noise itself first, then the guesses about the canary.

        Where steps are judged, less noise than accounted breaks what is promised for a step. Where the whole
        training is, it does so only if the accounting is tight: not for shuffled batches.
        """
        size = self._noise_size(self.claim.needed_sigma)
        violates = self.coin is not None or self.claim.sampling is BatchSampling.POISSON
        of_all = noisy_steps.less_noise(
            size, name="too_little_noise", finding=self._too_little(size), violates=violates
        )
        yield of_all
        squares = self._column("squares") / self.claim.needed_sigma**2
        if of_all.p_value >= CERTAIN or (squares == 0).any():  # else each step would only say it again
            coordinates = self._column("coordinates").astype(np.int64)
            yield noisy_steps.weakest_step(squares, coordinates, violates=violates)
        if self.claim.accounted_sigma > self.claim.needed_sigma * LONGER:
            yield noisy_steps.less_noise(
                self._noise_size(self.claim.accounted_sigma),
                name="less_noise_than_accounted",
                finding="the steps add less noise than the stated noise multiplier",
                violates=False,
            )
        if (stated := self._stated_sigma) is not None:
            yield noisy_steps.more_noise(self._noise_size(stated))
        values = np.where(self._column("squares")[:, None] > 0, self._sampled, np.nan)  # others have a test
        scale = size.ratio * self.claim.needed_sigma
        if scale > 0 and np.isfinite(values).sum() >= FEWEST_STEPS:
            yield from self._shape_tests(values, scale)
        cosines = self._column("cosine")
        seen = np.isfinite(cosines)
        if seen.any():
            dimensions = self._column("coordinates")[seen].astype(np.int64)
            yield noisy_steps.correlated_noise(cosines[seen], dimensions, size)
        yield from self._canary_tests()

    def _shape_tests(self, values: Reals, scale: float) -> Iterator[NoiseTest]:
        """Whether values occur again. They are rounded alike, and compared under noise of the scale seen.

        Numbers of few digits repeat by themselves: values are rounded to a coarser grid than theirs, and not
        compared at all where that is no longer fine.
        """
        step = max(GRID * scale, SPACINGS * float(self._column("spacing").max()))
        if step > COARSEST * scale:
            return
        noise = gaussian.Mechanism(sigma=scale, delta=self.claim.delta)
        columns = np.isfinite(values).any(axis=0)
        rounded = step * np.round(values[:MOST_COMPARED, columns] / step)
        test = reused_noise(rounded, noise, rounding=Rounding(step))
        yield NoiseTest(
            name=test.name,
            p_value=test.p_value,
            finding=_repetition(rounded, step),
            violates=True,
            n=test.n,
        )

    def _canary_tests(self) -> Iterator[NoiseTest]:
        known = self._column("with_canary") > 0
        if self.coin is None or not known.any():
            return
        members, scores = self._column("coin")[known] > 0, self._column("projection")[known]
        test = noisy_steps.step_guesses if self.coin is CanaryCoin.STEP else noisy_steps.step_rates
        yield test(members, scores, self.claim.needed_sigma)

    @cached_property
    def dependent(self) -> str | None:
        """Why trainings are not independent, if they are not."""
        if not self._repeated:
            return None
        return (
            "trainings repeat their noise, so that they count as one; do not set a seed inside the training: "
            "take the parameter seed or rng, which differs between trainings"
        )

    @cached_property
    def _repeated(self) -> bool:
        """Whether the first noise of two trainings is the same: so many numbers that it is no chance."""
        enough = -(-FEWEST_REPEATED // max(int(np.isfinite(self.trainings[0].of("sampled")[0]).sum()), 1))
        first = [one.of("sampled")[:enough] for one in self.trainings]
        return any(
            one.shape == first[0].shape and np.allclose(one, first[0], rtol=1e-4, atol=0.0, equal_nan=True)
            for one in first[1:]
        )

    @property
    def _counted(self) -> list[TrainingSteps]:
        """The trainings whose noise is independent."""
        return self.trainings[:1] if self._repeated else self.trainings

    def _column(self, name: str) -> Reals:
        return np.concatenate([one.of(name) for one in self._counted])

    @property
    def _sampled(self) -> Reals:
        return np.concatenate([one.of("sampled") for one in self._counted])

    def _noise_size(self, sigma: float) -> noisy_steps.NoiseSize:
        return noisy_steps.NoiseSize(
            squares=float(self._column("squares").sum()) / sigma**2,
            coordinates=int(self._column("coordinates").sum()),
        )

    def _too_little(self, size: noisy_steps.NoiseSize) -> str:
        claim = self.claim
        most = size.largest_ratio(SHOWN_ERROR) * claim.needed_sigma
        text = (
            f"the step adds less noise than accounted: at most {most:.3g} times the clip, and the claim "
            f"needs {claim.needed_sigma:.3g}"
        )
        if not most < 0.98 * claim.needed_sigma:
            return text
        if claim.sampling is BatchSampling.SHUFFLED:
            return f"{text}; accounted for shuffling that is ε = {claim.epsilon_of(most):.3g} (model-based)"
        return f"{text}; that is ε = {claim.epsilon_of(most, least=True):.3g} or more ({MODEL_BASED})"

    @cached_property
    def _least_rate(self) -> float:
        """The smallest share of the rows that batches hold, but for a chance of 1e-12; 0 if unknown."""
        known = [one for one in self.trainings if one.rows and (one.of("batch_size") >= 0).all()]
        drawn = sum(float(one.of("batch_size").sum()) for one in known)
        most = sum(one.n_steps * (one.rows or 0) for one in known)
        if not drawn or drawn > most or self.claim.sampling is not BatchSampling.POISSON:
            return 0.0
        return float(beta.ppf(CERTAIN, drawn, most - drawn + 1))

    def _epsilon_at(self, rate: float) -> float:
        """The least epsilon at another rate, with the most noise that is possible."""
        return (
            replace(self.claim, sample_rate=rate).epsilon_of(self._largest_sigma, least=True) if rate else 0.0
        )

    @property
    def _stated_sigma(self) -> float | None:
        """The largest noise multiplier that is stated anywhere; None where there is only an epsilon."""
        stated = [one for one in (self.claim.noise_multiplier, self._accounted_sigma) if one is not None]
        return max(*stated, self.claim.needed_sigma) if stated else None

    @property
    def _largest_sigma(self) -> float:
        """A noise multiplier that is certainly not below the true one."""
        seen = self._noise_size(self.claim.needed_sigma).largest_ratio(CERTAIN) * self.claim.needed_sigma
        return max(seen, self._stated_sigma or 0.0)

    @property
    def _accounted_sigma(self) -> float | None:
        """The smallest noise multiplier that an accountant recorded."""
        sigmas = [s for one in self.trainings if one.accounted is not None for s in one.accounted.sigmas]
        return min(sigmas, default=None)

    def _most(self, name: str) -> float:
        values = np.concatenate([one.of(name) for one in self.trainings])
        return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0

    @cached_property
    def _constant_batches(self) -> float:
        """The chance that so many Poisson batches have one size, or fewer; 1 where sizes are not known."""
        sizes = self._column("batch_size").astype(np.int64)
        rate = self.claim.sample_rate
        if sizes.size < FEWEST_STEPS or (sizes < 0).any() or rate >= 1:
            return 1.0
        rows = self.trainings[0].rows or max(round(float(sizes.mean()) / rate), 1)
        most_likely = float(binom.pmf(int((rows + 1) * rate), rows, rate))
        equal = int(np.unique(sizes, return_counts=True)[1].max())
        return float(min(1.0, (rows + 1) * binom.sf(equal - 1, sizes.size, most_likely)))

    @property
    def _shuffled_epsilon(self) -> float:
        shuffled = TrainingClaim(
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            sample_rate=self.claim.sample_rate,
            steps=self.claim.steps,
            sampling=BatchSampling.SHUFFLED,
        )
        return shuffled.epsilon_of(self.claim.accounted_sigma)

    @property
    def _divided_by_batch(self) -> bool:
        """Whether what the optimizer gets is divided by the size of the batch, which varies."""
        sizes, divided = self._column("batch_size"), self._column("divided")
        seen = np.isfinite(divided) & (sizes > 0)
        if seen.sum() < FEWEST_STEPS or np.ptp(sizes[seen]) == 0:
            return False
        shares = divided[seen] / sizes[seen]
        return bool(
            np.ptp(shares) < 0.05 * shares.mean() and np.ptp(divided[seen]) > 0.05 * divided[seen].mean()
        )
