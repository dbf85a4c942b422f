"""Distributions of the scores that attackers compute from cells, for informed and other attackers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals
from leakgauge.domains.locations.cell_exposure.cell_outputs import (
    CellOutputs,
    CountProbabilities,
    HypergeometricDraw,
    outputs_of_cell,
)
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.precomputed_ratios import PrecomputedRatios, precompute_ratios
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.theory.characteristic_functions import ScoreLaws, laws_on_nodes, score_nodes

_FEW, _STEP = 16, 0.05  # numbers of visitors above 16 are rounded within 5 %
_RATES = 0.06  # assumed rates are rounded within 6 %
_REACHED = -21.0  # log of a negligible probability


@dataclass(frozen=True)
class GroupDraws:
    """How many others are drawn if the target is a member, and if not."""

    n_people: int  # that they are drawn from
    n_in: int
    n_out: int

    def masses(self, visitors: int) -> tuple[CountProbabilities, CountProbabilities]:
        """The distributions of the number of drawn visitors of a cell, with the target and without."""
        return HypergeometricDraw(self.n_people, self.n_in).of(visitors), HypergeometricDraw(
            self.n_people, self.n_out
        ).of(visitors)

    @property
    def replaces(self) -> bool:
        return self.n_out > self.n_in


def round_counts(visitors: Ints) -> Ints:
    """Round large numbers of visitors, so that similar ones become equal."""
    many = np.maximum(visitors, _FEW)
    steps = np.round(np.log(many / _FEW) / _STEP)
    return np.where(visitors <= _FEW, visitors, np.round(_FEW * np.exp(_STEP * steps)).astype(np.int64))


def round_rates(rates: Reals) -> Reals:
    """Round rates, so that similar ones become equal."""
    return np.asarray(np.minimum(np.exp(_RATES * np.round(np.log(rates) / _RATES)), 0.999))


def informed_score_laws(chain: ReleaseChain, groups: GroupDraws, visitors: Ints) -> ScoreLaws:
    """Score distributions of cells for an attacker who knows the number of others in every round.

    Without clamping and suppression the count does not matter, and all cells have the same distribution.
    """
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


def believed_score_laws(chain: ReleaseChain, groups: GroupDraws, visitors: Ints, rates: Reals) -> ScoreLaws:
    """Score distributions of cells for an attacker who assumes that each person visits them with ``rates``.

    Both arrays have an entry for each kind of cell.
    """
    visitors = np.minimum(visitors, groups.n_people)
    ratios = precompute_ratios(chain, groups.n_in, groups.n_out, np.unique(rates))
    parts: list[tuple[Ints, Reals, CellOutputs]] = []
    for n in np.unique(visitors):
        kinds = np.flatnonzero(visitors == n)
        cell = outputs_of_cell(chain, *groups.masses(int(n)))
        parts.append((kinds, _scores(ratios, groups, cell.outputs, rates[kinds]), cell))
    scores = np.concatenate([scores.T.ravel() for _, scores, _ in parts])
    members, others = (
        np.concatenate([np.tile(getattr(law, world), kinds.size) for kinds, _, law in parts])
        for world in ("members", "others")
    )
    kinds = np.concatenate([np.repeat(kinds, law.outputs.size) for kinds, _, law in parts])
    return laws_on_nodes(score_nodes(_largest(scores)), visitors.size, kinds, scores, members, others)


def _scores(ratios: PrecomputedRatios, groups: GroupDraws, outputs: Reals, rates: Reals) -> Reals:
    prior = CountPrior(rates, groups.n_in, groups.n_out, np.zeros(rates.size, dtype=np.int64))
    return ratios.log_ratios(np.repeat(outputs[:, None], rates.size, axis=1), 0, prior)


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
