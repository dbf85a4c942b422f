"""The distribution of the output of one cell, with the target and without, for a randomly drawn group."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, sqrt

import numpy as np
from scipy.special import gammaln

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms._count_noise import IntegerOutputs

_REACH = 7.0  # standard deviations of the counts that are kept
_TAIL = 12.0  # further counts, for small expectations
_RARE = 1e-13  # outputs less likely than this for members and non-members are left out
_NODES = 4  # Gauss-Legendre nodes per interval
_PIECES = 4  # intervals per scale of the noise
_LEAST, _MOST = 48, 256  # intervals within the range of counts
_FAR = 30.0  # scales of the noise that are integrated, if little probability is beyond
_FALLEN = -27.6  # log of that probability: 1e-12


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
        reach = _REACH * sqrt(max(variance, 0.0)) + (_TAIL if variance > 0 else 0.0)
        first = max(0, size + visitors - people, floor(mean - reach))
        last = min(visitors, size, ceil(mean + reach))
        counts = np.arange(first, last + 1, dtype=np.float64)
        logs = (
            _log_binomial(visitors, counts)
            + _log_binomial(people - visitors, size - counts)
            - _log_binomial(people, np.array(float(size)))
        )
        chances = np.exp(logs)
        return CountProbabilities(first, chances / chances.sum())


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
    chain: ReleaseChain, with_member: CountProbabilities, without: CountProbabilities
) -> CellOutputs:
    """The outputs of a cell. The others in it are ``with_member`` beside a member, else ``without``."""
    if chain.mute:
        return CellOutputs(np.zeros(1), np.ones(1), np.ones(1))
    first, last = min(with_member.first, without.first), max(with_member.last, without.last)
    counts = with_member.over(first, last), without.over(first, last)
    cell = (
        _integer_outputs(chain, first, *counts) if chain.whole else _continuous_outputs(chain, first, *counts)
    )
    likely = (cell.members > _RARE) | (cell.others > _RARE)
    return CellOutputs(cell.outputs[likely], cell.members[likely], cell.others[likely])


def _integer_outputs(chain: ReleaseChain, first: int, with_member: Reals, without: Reals) -> CellOutputs:
    noise = _noise_probabilities(chain)
    reach = noise.size // 2
    places = np.arange(first - reach, first + with_member.size + reach + 1, dtype=np.float64)
    members = np.pad(np.convolve(with_member, noise), (1, 0))
    nonmembers = np.pad(np.convolve(without, noise), (0, 1))
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


def _continuous_outputs(chain: ReleaseChain, first: int, with_member: Reals, without: Reals) -> CellOutputs:
    counts = first + np.arange(with_member.size, dtype=np.float64)
    low, high = (
        end if lump is None else float(lump)
        for lump, end in ((chain.lumps_below, -np.inf), (chain.lumps_above, np.inf))
    )
    outputs, weights = _quadrature(chain, counts, low, high)
    log_densities = [chain.added.log_at(outputs[:, None] - (counts + more)) for more in (1, 0)]
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
            chances = [np.exp(tail(lump - counts - more)) for more in (1, 0)]
            parts.append(
                (
                    np.array([published_as]),
                    np.atleast_1d(chances[0] @ with_member),
                    np.atleast_1d(chances[1] @ without),
                )
            )
    return CellOutputs(*(np.concatenate(columns) for columns in zip(*parts)))


def _quadrature(chain: ReleaseChain, counts: Reals, low: float, high: float) -> tuple[Reals, Reals]:
    """Nodes and weights that integrate the density of outputs between two ends (Gauss-Legendre).

    Within the range of counts, intervals end at whole numbers, where Laplace densities have kinks, unless the
    range is so large that kinks do not matter. Outside, intervals are a quarter of a scale long.
    """
    if isinstance(chain.added.between, IntegerOutputs):
        raise AssertionError("integer outputs have no density")
    scale = chain.added.between.scale
    bulk = counts[-1] + 1 - counts[0]
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
