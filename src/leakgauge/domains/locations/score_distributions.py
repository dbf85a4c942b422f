"""Distributions of what a cell publishes and of the scores that attackers compute from cells.

They hold for a randomly drawn group, with the target and without, for informed and other attackers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlog1py, xlogy

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import PrecomputedRatios, precompute_ratios
from leakgauge.domains.locations.counts.value_ratios import log_ratios_of_trace
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms._count_noise import IntegerOutputs
from leakgauge.theory.characteristic_functions import ScoreLaws, laws_on_nodes, score_nodes

_REACH = 7.0  # standard deviations of the counts that are kept
_TAIL = 12.0  # further counts, for small expectations
_RARE = 1e-13  # outputs less likely than this for members and non-members are left out
_NODES = 4  # Gauss-Legendre nodes per interval
_PIECES = 4  # intervals per scale of the noise
_LEAST, _MOST = 48, 256  # intervals within the range of counts
_FAR = 30.0  # scales of the noise that are integrated, if little probability is beyond
_FALLEN = -27.6  # log of that probability: 1e-12
_FEW, _STEP = 16, 0.05  # numbers of visitors above 16 are rounded within 5 %
_RATES = 0.06  # assumed rates are rounded within 6 %
_MOST_KNOWN = 512  # different known counts that are kept apart
_REACHED = -21.0  # log of a negligible probability


@dataclass(frozen=True)
class CountProbabilities:
    """Probabilities of the counts ``first``, ``first + 1`` and so on."""

    first: int
    chances: Reals

    def over(self, first: int, last: int) -> Reals:
        """The probabilities of all counts from ``first`` to ``last``, padded with zeros."""
        return np.pad(self.chances, (self.first - first, last + 1 - self.first - self.chances.size))

    @property
    def last(self) -> int:
        return self.first + self.chances.size - 1


@dataclass(frozen=True)
class HypergeometricDraw:
    """A group of ``size`` people drawn without replacement from a crowd of ``n_people``."""

    n_people: int
    size: int

    def __post_init__(self) -> None:
        if not 0 <= self.size <= self.n_people:
            raise BadInput(
                f"a group of {self.size} cannot be drawn from {self.n_people} people; lower the group size"
            )

    def of(self, visitors: int) -> CountProbabilities:
        """The hypergeometric distribution of how many of the visitors are drawn, up to 1e-11.

        >>> HypergeometricDraw(4, 2).of(1).chances.tolist()
        [0.5, 0.5]
        """
        people, size = self.n_people, self.size
        mean = size * visitors / max(people, 1)
        variance = mean * (1 - visitors / max(people, 1)) * (people - size) / max(people - 1, 1)
        counts = _likely_counts(mean, variance, max(0, size + visitors - people), min(visitors, size))
        logs = (
            _log_binomial(visitors, counts)
            + _log_binomial(people - visitors, size - counts)
            - _log_binomial(people, np.array(float(size)))
        )
        return _from_logs(counts, logs)


@dataclass(frozen=True)
class BinomialDraw:
    """A group of ``size`` people who are each like one of ``n_people``: nobody is used up by being drawn."""

    n_people: int
    size: int

    def of(self, visitors: int) -> CountProbabilities:
        """The binomial distribution of how many are like one of the visitors, up to 1e-11.

        >>> BinomialDraw(4, 2).of(2).chances.tolist()
        [0.25, 0.5, 0.25]
        """
        size, rate = self.size, min(visitors / max(self.n_people, 1), 1.0)
        counts = _likely_counts(size * rate, size * rate * (1 - rate), 0, size if visitors else 0)
        logs = _log_binomial(size, counts) + xlogy(counts, rate) + xlog1py(size - counts, -rate)
        return _from_logs(counts, logs)


def _likely_counts(mean: float, variance: float, least: int, most: int) -> Reals:
    """The counts that are not too far from the mean to occur."""
    reach = _REACH * sqrt(max(variance, 0.0)) + (_TAIL if variance > 0 else 0.0)
    first, last = max(least, floor(mean - reach)), min(most, ceil(mean + reach))
    return np.arange(first, last + 1, dtype=np.float64)


def _from_logs(counts: Reals, logs: Reals) -> CountProbabilities:
    chances = np.exp(logs)
    return CountProbabilities(int(counts[0]), chances / chances.sum())


def _log_binomial(n: int, k: Reals) -> Reals:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1))


@dataclass(frozen=True, eq=False)
class CellOutputs:
    """Outputs, and the probability of each for a member and for a non-member.

    A continuous output stands for an interval; the ratio of the two probabilities is exact at the output.
    """

    outputs: Reals
    members: Reals
    others: Reals


def outputs_of_cell(
    chain: ReleaseChain, with_member: CountProbabilities, without: CountProbabilities, value: int = 1
) -> CellOutputs:
    """The outputs of a cell. The others in it are ``with_member`` beside a member, else ``without``.

    A member adds ``value`` to the count.
    """
    if chain.mute:
        return CellOutputs(np.zeros(1), np.ones(1), np.ones(1))
    first, last = min(with_member.first, without.first), max(with_member.last, without.last)
    counts = with_member.over(first, last), without.over(first, last)
    cell = (_integer_outputs if chain.whole else _continuous_outputs)(chain, first, *counts, value)
    likely = (cell.members > _RARE) | (cell.others > _RARE)
    return CellOutputs(cell.outputs[likely], cell.members[likely], cell.others[likely])


def _integer_outputs(
    chain: ReleaseChain, first: int, with_member: Reals, without: Reals, value: int
) -> CellOutputs:
    noise = _noise_probabilities(chain)
    reach = noise.size // 2
    places = np.arange(first - reach, first + with_member.size + reach + value, dtype=np.float64)
    members = np.pad(np.convolve(with_member, noise), (value, 0))
    nonmembers = np.pad(np.convolve(without, noise), (0, value))
    outputs = places
    if chain.lumps_below is not None:
        outputs = np.where(places <= chain.lumps_below, 0.0, outputs)
    if chain.lumps_above is not None:
        outputs = np.minimum(outputs, float(chain.lumps_above))
    starts = np.flatnonzero(np.append(True, np.diff(outputs) != 0))
    return CellOutputs(outputs[starts], np.add.reduceat(members, starts), np.add.reduceat(nonmembers, starts))


@lru_cache(maxsize=8)
def _noise_probabilities(chain: ReleaseChain) -> Reals:
    reach = chain.added.reach
    noise = np.exp(chain.added.log_at(np.arange(-reach, reach + 1, dtype=np.float64)))
    return noise / noise.sum()


def _continuous_outputs(
    chain: ReleaseChain, first: int, with_member: Reals, without: Reals, value: int
) -> CellOutputs:
    counts = first + np.arange(with_member.size, dtype=np.float64)
    low, high = (
        end if lump is None else float(lump)
        for lump, end in ((chain.lumps_below, -np.inf), (chain.lumps_above, np.inf))
    )
    outputs, weights = _quadrature(chain, counts, low, high, value)
    log_densities = [chain.added.log_at(outputs[:, None] - (counts + more)) for more in (value, 0)]
    parts = [
        (
            outputs,
            *(
                weights * (np.exp(log) @ chances)
                for log, chances in zip(log_densities, (with_member, without))
            ),
        )
    ]
    for lump, published_as, tail in (
        (low, 0.0, chain.added.log_at_most),
        (high, high, chain.added.log_at_least),
    ):
        if np.isfinite(lump):
            chances = [np.exp(tail(lump - counts - more)) for more in (value, 0)]
            parts.append(
                (
                    np.array([published_as]),
                    np.atleast_1d(chances[0] @ with_member),
                    np.atleast_1d(chances[1] @ without),
                )
            )
    return CellOutputs(*(np.concatenate(columns) for columns in zip(*parts)))


def _quadrature(
    chain: ReleaseChain, counts: Reals, low: float, high: float, value: int
) -> tuple[Reals, Reals]:
    """Nodes and weights that integrate the density of outputs between two ends (Gauss-Legendre).

    Within the range of counts, intervals end at whole numbers, where Laplace densities have kinks, unless the
    range is so large that kinks do not matter. Outside, intervals are a quarter of a scale long.
    """
    if isinstance(chain.added.between, IntegerOutputs):
        raise AssertionError("integer outputs have no density")
    scale = chain.added.between.scale
    bulk = counts[-1] + value - counts[0]
    step = bulk // _MOST if bulk >= _MOST else 1 / ceil(max(1.0, _LEAST / bulk, _PIECES / scale))
    inner = counts[0] + step * np.arange(ceil(bulk / step) + 1)
    tail = float(chain.added.log_at_least(np.array([_FAR * scale]))[0])
    far = _FAR if tail < _FALLEN else chain.added.reach / scale
    outer = scale / _PIECES * np.arange(1, ceil(far * _PIECES) + 1)
    edges = np.concatenate([inner[0] - outer[::-1], inner, inner[-1] + outer])
    edges = np.unique(np.clip(edges, low, high))
    if edges.size < 2:
        return np.empty(0), np.empty(0)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    lengths = np.diff(edges)[:, None]
    return (edges[:-1, None] + lengths * (nodes + 1) / 2).ravel(), (lengths * weights / 2).ravel()


@dataclass(frozen=True)
class GroupDraws:
    """How many others are drawn if the target is a member, and if not."""

    n_people: int  # that they are drawn from
    n_in: int
    n_out: int
    repeated: bool = False  # whether somebody may be drawn more than once

    def masses(self, visitors: int) -> tuple[CountProbabilities, CountProbabilities]:
        """The distributions of the number of drawn visitors of a cell, with the target and without."""
        draw = BinomialDraw if self.repeated else HypergeometricDraw
        return draw(self.n_people, self.n_in).of(visitors), draw(self.n_people, self.n_out).of(visitors)

    @property
    def replaces(self) -> bool:
        return self.n_out > self.n_in

    @property
    def fixed(self) -> bool:
        """Whether everybody is always drawn, so that all counts are certain."""
        return self.n_in == self.n_out == self.n_people and not self.repeated


def round_counts(visitors: Ints, n_people: int | None = None) -> Ints:
    """Round large numbers of visitors, so that similar ones become equal.

    Of ``n_people`` only: where most of them are visitors, the number of the others is rounded, because it
    decides how much the number of visitors in a group varies.
    """
    if n_people is not None:
        few = np.minimum(visitors, np.maximum(n_people - visitors, 0))
        return np.where(2 * visitors <= n_people, round_counts(few), visitors + few - round_counts(few))
    many = np.maximum(visitors, _FEW)
    steps = np.round(np.log(many / _FEW) / _STEP)
    return np.where(visitors <= _FEW, visitors, np.round(_FEW * np.exp(_STEP * steps)).astype(np.int64))


def round_rates(rates: Reals, step: float = _RATES) -> Reals:
    """Round rates, or where they are large their distances from 1, so that similar ones become equal."""
    small = np.minimum(rates, 0.999)
    large = small > 0.5
    rounded = np.exp(step * np.round(np.log(np.where(large, 1 - small, small)) / step))
    return np.asarray(np.minimum(np.where(large, 1 - rounded, rounded), 0.999))


def merge_known_counts(chain: ReleaseChain, counts: Ints) -> Ints:
    """For each known count one with (nearly) the same score distribution; few different ones remain.

    Counts far from the limits of clamping and suppression are all alike. Only where the noise reaches so far
    that too many are left, similar ones are rounded.
    """
    merged = _representative_counts(chain, counts)
    return merged if np.unique(merged).size <= _MOST_KNOWN else round_counts(merged)


def informed_score_laws(
    chain: ReleaseChain, groups: GroupDraws, visitors: Ints, values: Ints | None = None
) -> ScoreLaws:
    """Score distributions of cells for an attacker who knows the number of others in every round.

    ``values`` is what the target adds to a cell of each kind: 1 if None. Above 1 all counts must be certain.
    Without clamping and suppression the count does not matter, and all cells have the same distribution.
    """
    if values is not None and values.size and values.max() > 1:
        return _laws_of_values(chain, groups, visitors, values)
    visitors = np.minimum(visitors, groups.n_people)
    certain = _distinct_counts(chain, groups, visitors)
    laws = _losses(
        [
            outputs_of_cell(chain, one, one)
            for one in (CountProbabilities(int(c), np.ones(1)) for c in certain)
        ]
    )
    weights = np.zeros((visitors.size, certain.size))
    for row, n in zip(weights, visitors.tolist()):
        masses = HypergeometricDraw(groups.n_people, groups.n_in).of(n)
        counts = masses.first + np.arange(masses.chances.size)
        np.add.at(row, np.searchsorted(certain, _representative_counts(chain, counts)), masses.chances)
    mixed = laws.mixed(weights)
    return mixed.replaced(visitors / groups.n_people) if groups.replaces else mixed


def _laws_of_values(chain: ReleaseChain, groups: GroupDraws, counts: Ints, values: Ints) -> ScoreLaws:
    """Score distributions where all counts are certain, of cells to which the target adds ``values``."""
    _require_certain_counts(groups)
    same = _representative_counts(chain, counts)
    cells, kinds = np.unique(np.stack([same, values]), axis=1, return_inverse=True)
    certain = [(CountProbabilities(int(count), np.ones(1)), int(value)) for count, value in cells.T]
    laws = _losses([outputs_of_cell(chain, one, one, value) for one, value in certain])
    weights = np.zeros((counts.size, cells.shape[1]))
    weights[np.arange(counts.size), kinds.ravel()] = 1.0
    return laws.mixed(weights)


def _require_certain_counts(groups: GroupDraws) -> None:
    if not groups.fixed:
        raise BadInput(
            "exposure with values above 1 is computed for the table of everyone in the data; write "
            'challenger.group_size = "everyone", or simulate releases: leakgauge run'
        )


def believed_score_laws(
    chain: ReleaseChain,
    groups: GroupDraws,
    visitors: Ints,
    rates: Reals,
    values: Ints | None = None,
    shapes: Reals | None = None,
) -> ScoreLaws:
    """Score distributions of cells for an attacker who assumes that each person visits them with ``rates``.

    All arrays have an entry for each kind of cell. ``values`` is what the target adds: 1 if None. Where
    values may be above 1, all counts must be certain. ``shapes`` says how well the attacker knows the rates,
    as in ``CountPrior``.
    """
    shapes = np.full(visitors.size, np.inf) if shapes is None else shapes
    values = np.ones(visitors.size, dtype=np.int64) if values is None else values
    most = int(values.max(initial=1))
    if most > 1:
        _require_certain_counts(groups)
        groups = GroupDraws(most * groups.n_people, most * groups.n_in, most * groups.n_out)
    visitors = np.minimum(visitors, groups.n_people)
    ratios = precompute_ratios(chain, _prior(groups, rates, shapes))
    parts: list[tuple[Ints, Reals, CellOutputs]] = []
    for n, value in np.unique(np.stack([visitors, values]), axis=1).T:
        kinds = np.flatnonzero((visitors == n) & (values == value))
        cell = outputs_of_cell(chain, *groups.masses(int(n)), int(value))
        prior = _prior(groups, rates[kinds], shapes[kinds])
        parts.append((kinds, _scores(ratios, prior, cell.outputs, int(value)), cell))
    scores = np.concatenate([scores.T.ravel() for _, scores, _ in parts])
    members, others = (
        np.concatenate([np.tile(getattr(law, world), kinds.size) for kinds, _, law in parts])
        for world in ("members", "others")
    )
    kinds = np.concatenate([np.repeat(kinds, law.outputs.size) for kinds, _, law in parts])
    return laws_on_nodes(score_nodes(_largest(scores)), visitors.size, kinds, scores, members, others)


def _scores(ratios: PrecomputedRatios, prior: CountPrior, outputs: Reals, value: int) -> Reals:
    n = prior.rates.size
    seen = np.repeat(outputs[:, None], n, axis=1)
    trace = PartialTrace(np.arange(n), np.ones(n), values=np.full(n, value))
    return log_ratios_of_trace(ratios.log_ratios, seen, 0, prior, trace)


def _prior(groups: GroupDraws, rates: Reals, shapes: Reals) -> CountPrior:
    return CountPrior(rates, groups.n_in, groups.n_out, np.zeros(rates.size, dtype=np.int64), shapes)


def _losses(laws: list[CellOutputs]) -> ScoreLaws:
    with np.errstate(divide="ignore"):
        scores = np.concatenate([np.log(law.members) - np.log(law.others) for law in laws])
    kinds = np.repeat(np.arange(len(laws)), [law.outputs.size for law in laws])
    members, others = (np.concatenate([getattr(law, name) for law in laws]) for name in ("members", "others"))
    return laws_on_nodes(score_nodes(_largest(scores)), len(laws), kinds, scores, members, others)


def _largest(scores: Reals) -> float:
    sizes = np.abs(scores)
    return float(np.max(sizes[sizes < 1e5], initial=0.0))


def _distinct_counts(chain: ReleaseChain, groups: GroupDraws, visitors: Ints) -> Ints:
    """The counts with different score distributions: those near a clamping or suppression limit."""
    if chain.shift_free:
        return np.zeros(1, dtype=np.int64)
    draw = HypergeometricDraw(groups.n_people, groups.n_in)
    draws = [draw.of(int(n)) for n in visitors]
    counts = [one.first + np.arange(one.chances.size) for one in draws]
    return np.unique(_representative_counts(chain, np.concatenate(counts)))


def _representative_counts(chain: ReleaseChain, counts: npt.NDArray[np.int64]) -> Ints:
    """For each count, one with (nearly) the same score distribution."""
    if chain.shift_free:
        return np.zeros_like(counts)
    reach = _reach(chain.added.log_at_least, chain.added.log_at_most)
    low = (chain.lumps_below or 0) + reach + 1
    if chain.lumps_above is None:
        return np.minimum(counts, low)
    high = chain.lumps_above - reach - 2
    return counts if low >= high else np.where((counts > low) & (counts < high), low, counts)


def _reach(at_least: Callable[[Reals], Reals], at_most: Callable[[Reals], Reals]) -> int:
    """A distance that the noise exceeds with negligible probability."""
    distances = np.ceil(np.concatenate([[0.0], 1.1 ** np.arange(200)]))
    rare = (at_least(distances) < _REACHED) & (at_most(-distances) < _REACHED)
    return int(distances[np.argmax(rare)])
