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

_REACH = 7.0  # standard deviations
_TAIL = 12.0  # counts beyond them where few people are expected


@dataclass(frozen=True)
class CountProbabilities:
    """Probabilities of the counts ``first``, ``first + 1`` and so on."""

    first: int
    chances: Reals

    def over(self, first: int, last: int) -> Reals:
        """The same over all counts of a range that holds them."""
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
            raise BadInput(f"a group of {self.size} cannot be drawn from {self.n_people} people")

    def of(self, visitors: int) -> CountProbabilities:
        """The hypergeometric law of how many are drawn of so many visitors; all but 1e-11 of it.

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


_RARE = 1e-13  # outputs less likely than this in both worlds are left out
_NODES = 4  # of Gauss and Legendre, on each piece
_PIECES = 4  # per scale of the noise
_LEAST, _MOST = 48, 256  # pieces inside the counts
_FAR = 30.0  # scales of the noise, where hardly any is left beyond them
_FALLEN = -27.6  # the log of the probability that may be: 1e-12


@dataclass(frozen=True, eq=False)
class CellOutputs:
    """Outputs, and the probability of each for a member and for a non-member.

    Outputs that vary continuously stand for a piece of the line each; the ratio of the worlds is exact there.
    """

    outputs: Reals
    members: Reals
    others: Reals


def outputs_of_cell(
    chain: ReleaseChain, company: CountProbabilities, others: CountProbabilities
) -> CellOutputs:
    """The outputs of a cell with ``company`` in it beside a member, and with ``others`` without one."""
    if chain.mute:
        return CellOutputs(np.zeros(1), np.ones(1), np.ones(1))
    first, last = min(company.first, others.first), max(company.last, others.last)
    worlds = company.over(first, last), others.over(first, last)
    found = (
        _integer_outputs(chain, first, *worlds) if chain.whole else _continuous_outputs(chain, first, *worlds)
    )
    likely = (found.members > _RARE) | (found.others > _RARE)
    return CellOutputs(found.outputs[likely], found.members[likely], found.others[likely])


def _integer_outputs(chain: ReleaseChain, first: int, company: Reals, others: Reals) -> CellOutputs:
    law = _noise_probabilities(chain)
    reach = law.size // 2
    places = np.arange(first - reach, first + company.size + reach + 1, dtype=np.float64)
    members = np.pad(np.convolve(company, law), (1, 0))
    without = np.pad(np.convolve(others, law), (0, 1))
    outputs = places
    if chain.lumps_below is not None:
        outputs = np.where(places <= chain.lumps_below, 0.0, outputs)
    if chain.lumps_above is not None:
        outputs = np.minimum(outputs, float(chain.lumps_above))
    starts = np.flatnonzero(np.append(True, np.diff(outputs) != 0))
    return CellOutputs(outputs[starts], np.add.reduceat(members, starts), np.add.reduceat(without, starts))


@lru_cache(maxsize=8)
def _noise_probabilities(chain: ReleaseChain) -> Reals:
    reach = chain.added.reach
    law = np.exp(chain.added.log_at(np.arange(-reach, reach + 1, dtype=np.float64)))
    return law / law.sum()


def _continuous_outputs(chain: ReleaseChain, first: int, company: Reals, others: Reals) -> CellOutputs:
    counts = first + np.arange(company.size, dtype=np.float64)
    low, high = (
        end if lump is None else float(lump)
        for lump, end in ((chain.lumps_below, -np.inf), (chain.lumps_above, np.inf))
    )
    outputs, weights = _quadrature(chain, counts, low, high)
    law = [chain.added.log_at(outputs[:, None] - (counts + more)) for more in (1, 0)]
    parts = [(outputs, *(weights * (np.exp(log) @ chances) for log, chances in zip(law, (company, others))))]
    for lump, published_as, tail in (
        (low, 0.0, chain.added.log_at_most),
        (high, high, chain.added.log_at_least),
    ):
        if np.isfinite(lump):
            chances = [np.exp(tail(lump - counts - more)) for more in (1, 0)]
            parts.append(
                (
                    np.array([published_as]),
                    np.atleast_1d(chances[0] @ company),
                    np.atleast_1d(chances[1] @ others),
                )
            )
    return CellOutputs(*(np.concatenate(columns) for columns in zip(*parts)))


def _quadrature(chain: ReleaseChain, counts: Reals, low: float, high: float) -> tuple[Reals, Reals]:
    """Places and weights that integrate the density of outputs between two ends (Gauss and Legendre).

    Pieces end at whole numbers inside the counts, where Laplace densities have kinks, unless the counts vary
    so much that kinks do not show. Outside they are a quarter of a scale long.
    """
    if isinstance(chain.added.between, IntegerOutputs):
        raise AssertionError("whole outputs have no density")
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
