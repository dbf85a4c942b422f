"""The two laws of one published cell: with the target and without it, for adversaries of different knowledge.

They are what the best possible attack is worked out from: ``theory.pair_sums`` adds up the losses of cells.
"""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.traces import Ints
from leakgauge.strategies.count_priors import CountPrior, log_masses, window
from leakgauge.strategies.laws import Exponential, Smooth
from leakgauge.strategies.mixing import log_mix
from leakgauge.theory.pairs import Pair, mixture

_BINS = 2000  # of outputs that vary continuously
_TAIL = 38.0  # a probability of e^-38 = 3e-17 may lie outside of the bins


def pair(chain: Chain, prior: CountPrior, known: int = 0) -> Pair:
    """The laws of a cell in which ``known`` people are for sure, and others by chance; prior: of one cell.

    Whole outputs are told apart exactly. Others are put into bins, with the least and the largest loss of
    each: the loss rises with the output, for the ratio of the worlds rises with the count (others are counted
    by log-concave laws), and log-concave noise keeps that order (Karlin 1968).
    """
    if prior.rates.shape != (1,):
        raise BadInput(f"a pair of laws is for one cell, got rates of shape {prior.rates.shape}")
    counts, coins = _counts(prior), int(prior.coins[0])
    inside, outside = (log_masses(n, prior.rates, coins, counts) for n in (prior.n_in, prior.n_out))
    behind = _Behind(known + np.arange(counts.start, counts.stop + 1), inside, outside)
    if chain.whole:
        return behind.pair(chain.table(behind.counts)[1])
    return _binned(chain, behind, _limits(chain, prior))


def pair_with_known(chain: Chain, n_known: int, prior: CountPrior) -> Pair:
    """The laws of a cell whose known people vary from round to round: a count and an output are seen.

    Each of ``n_known`` people is in the cell with the chance of the prior, which tells of all others. An
    informed adversary has nobody left in the prior but who may replace the target.
    """
    nobody = np.zeros(1, dtype=np.int64)
    if chain.shift_free:
        return pair(chain, prior)
    counts = _counts(CountPrior(prior.rates, n_known, n_known, nobody))
    weights = np.exp(log_masses(n_known, prior.rates, 0, counts)[0])
    likely = weights > np.exp(-_TAIL)
    pairs = [pair(chain, prior, known) for known in np.asarray(counts)[likely].tolist()]
    return mixture(pairs, weights[likely])


@dataclass(frozen=True, eq=False)
class _Behind:
    """Counts that may be behind an output, one more than the others may have; log chances of the others'."""

    counts: Ints
    inside: Reals  # with the target in the group: one row
    outside: Reals

    def pair(self, law: Reals, low: Reals | None = None, high: Reals | None = None) -> Pair:
        """Both worlds, given the law of outputs: a row per count."""
        return Pair.of(np.exp(self.inside) @ law[1:], np.exp(self.outside) @ law[:-1], low, high)

    def losses(self, log_law: Reals) -> Reals:
        """The loss of each output, given the log law of outputs."""
        return (log_mix(self.inside, log_law[1:]) - log_mix(self.outside, log_law[:-1]))[0]


def _counts(prior: CountPrior) -> range:
    """The counts that others may have."""
    rate = float(prior.rates[0])
    return window(prior.n_out, rate, rate, int(prior.coins[0]), 0.0, (0.0, 0.0))


def _limits(chain: Chain, prior: CountPrior) -> tuple[float, float]:
    """The losses of outputs far below and far above all counts.

    Under Laplace noise each person there changes the law by the same factor: the target in one world, in the
    other those who are there instead, with the chance of the prior.
    """
    if not isinstance(chain.added.between, Exponential):
        return -np.inf, np.inf
    sides = np.array([-1.0, 1.0]) / chain.added.between.scale
    rate = float(prior.rates[0])
    instead = np.logaddexp(_log(1 - rate), _log(rate) + sides)
    low, high = sides - (prior.n_out - prior.n_in) * instead
    return float(low), float(high)


def _log(x: float) -> float:
    return float(np.log(x)) if x > 0 else -np.inf


def _binned(chain: Chain, behind: _Behind, limits: tuple[float, float]) -> Pair:
    """Bins between what is lumped together at 0 and at the top, or else out to infinity."""
    low = -np.inf if chain.lumps_below is None else float(chain.lumps_below)
    high = np.inf if chain.lumps_above is None else float(chain.lumps_above)
    if low >= high:
        return Pair.of([1.0], [1.0])
    likely = behind.counts[:-1][behind.outside[0] > -_TAIL]
    pad = 9 * chain.added.between.sigma if isinstance(chain.added.between, Smooth) else 0.0
    edges = np.linspace(likely[0] - pad, likely[-1] + 1 + pad, _BINS + 1)
    edges = np.concatenate([[low], edges[(edges > low) & (edges < high)], [high]])
    counts = behind.counts[:, None]
    losses = behind.losses(chain.added.log_at(np.where(np.isfinite(edges), edges, 0.0) - counts))
    losses = np.where(np.isfinite(edges), losses, np.where(edges > 0, limits[1], limits[0]))
    there = np.array([np.isfinite(low), True, np.isfinite(high)]).repeat([1, edges.size - 1, 1])
    return behind.pair(
        _law(chain, edges, counts)[:, there],
        np.concatenate([[np.inf], losses[:-1], [np.inf]])[there],  # a lump has one loss, that of its chances
        np.concatenate([[-np.inf], losses[1:], [-np.inf]])[there],
    )


def _law(chain: Chain, edges: Reals, counts: Ints) -> Reals:
    """The chance of at most the first edge, of each bin, and of at least the last edge; a row per count."""
    below, above = (np.exp(log) for log in _tails(chain, edges - counts))
    left = (edges[1:] + edges[:-1]) / 2 < counts  # the difference of the smaller two is the more exact
    left |= np.isneginf(edges[:-1])
    bins = np.where(left & np.isfinite(edges[1:]), np.diff(below), -np.diff(above))
    return np.hstack([below[:, :1], np.maximum(bins, 0.0), above[:, -1:]])


def _tails(chain: Chain, distances: Reals) -> tuple[Reals, Reals]:
    """Log chances of at most and of at least each distance, which may be infinite."""
    near = np.clip(distances, -1e300, 1e300)
    return chain.added.log_at_most(near), chain.added.log_at_least(near)
