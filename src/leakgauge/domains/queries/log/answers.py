"""The answers that a log tells of: how much noise each has, and how far one record can move it."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.records import Ints
from leakgauge.theory import gdp

LARGEST = 1e9  # epsilon of one answer
MOST_STEPS = 1_000_000  # by which one record may move an answer with geometric noise
NUMBERS = ("epsilon", "scale", "sigma", "delta", "bound")


class Noise(IntEnum):
    """The noise of an answer."""

    LAPLACE = 0
    GEOMETRIC = 1
    GAUSSIAN = 2


@dataclass(frozen=True, eq=False)
class Answers:
    """One row for each release: rows of the log with the same query id are one."""

    ids: npt.NDArray[Any]  # whole numbers or texts
    rows: Ints  # of the log, counted from 1
    noise: Ints
    scale: Reals  # of Laplace or geometric noise; the standard deviation of Gaussian noise
    bound: Reals  # how far one record can move the answer: 1 for a count
    is_sum: Bits

    def __len__(self) -> int:
        return int(self.ids.size)


def answers(table: dict[str, npt.NDArray[Any]], where: str) -> tuple[Answers, int]:
    """Make the answers of a table, and tell how many have a scale that is not the one of their epsilon.

    Where both are given the scale counts, and epsilon is a label, as in a plan.
    """
    rows, said = np.asarray(table["n"], dtype=np.int64), _Said(table, where)
    noise = said.choice("mechanism", ("laplace", "geometric", "gaussian"))
    noise = np.where(noise < 0, np.where(said.given("sigma"), Noise.GAUSSIAN, Noise.LAPLACE), noise)
    is_sum = said.choice("kind", ("count", "sum")) == 1
    for name in NUMBERS:
        odd = said.given(name) & ~((said.values(name) > 0) & (said.values(name) < np.inf))
        said.refuse(odd, name, "must be > 0 and finite")
    said.refuse(said.given("delta") & ~(said.values("delta") < 1), "delta", "must be in (0, 1)")
    said.refuse(is_sum & ~said.given("bound"), "kind", "a sum needs a bound on one record's value; add it")
    said.refuse(~is_sum & said.given("bound"), "bound", "a count has none; leave it out, or say kind = sum")
    bound = np.where(is_sum, said.values("bound"), 1.0)
    normal = noise == Noise.GAUSSIAN
    said.refuse(~normal & said.given("sigma"), "sigma", "is of gaussian noise; say scale, or epsilon")
    uneven = (noise == Noise.GEOMETRIC) & ~((bound == np.floor(bound)) & (bound <= MOST_STEPS))
    rule = f"must be a whole number up to {MOST_STEPS:,} under geometric noise; count in larger units"
    said.refuse(uneven, "bound", rule)
    scale = np.where(normal & said.given("sigma"), said.values("sigma"), said.values("scale"))
    unset = ~(said.given("scale") | (normal & said.given("sigma")))
    said.refuse(unset & ~said.given("epsilon"), "epsilon", "says nothing, nor does scale; add one of them")
    said.refuse(
        unset & normal & ~said.given("delta"), "epsilon", "of gaussian noise needs delta beside it, or sigma"
    )
    by_epsilon = _scale_for(said.values("epsilon"), said.values("delta"), bound, normal)
    disagree = ~unset & ~normal & said.given("epsilon") & ~np.isclose(scale, by_epsilon, rtol=1e-6)
    scale = np.where(unset, by_epsilon, scale)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bare = ~((bound / scale <= LARGEST) & (scale < np.inf))
    name = "epsilon" if unset[int(np.argmax(bare))] else "scale"
    said.refuse(bare, name, f"is no protection: an answer of epsilon above {LARGEST:g}; mend it")
    return Answers(table["query"], rows, noise, scale, bound, is_sum), int(np.count_nonzero(disagree))


def _scale_for(epsilon: Reals, delta: Reals, bound: Reals, normal: Bits) -> Reals:
    """The scale that an epsilon stands for; for Gaussian noise by analytic calibration."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = bound / epsilon
    rows = np.flatnonzero(normal & np.isfinite(epsilon) & np.isfinite(delta))
    if rows.size:
        pairs, which = np.unique(np.stack([epsilon[rows], delta[rows]]), axis=1, return_inverse=True)
        mus = np.array([gdp.mu_for(*pair) for pair in pairs.T.tolist()])
        scale[rows] = bound[rows] / mus[which.ravel()]
    return scale


@dataclass(frozen=True, eq=False)
class _Said:
    """What rows of a log say, and the first of them that says something odd."""

    table: dict[str, npt.NDArray[Any]]
    where: str

    def given(self, name: str) -> Bits:
        return np.asarray(~np.ma.getmaskarray(self.table[name]))

    def values(self, name: str) -> Reals:
        return np.ma.filled(np.ma.asarray(self.table[name]), np.nan)

    def choice(self, name: str, known: tuple[str, ...]) -> Ints:
        """Which of the known words each row says, -1 for none."""
        words = np.ma.asarray(self.table[name])
        found = np.full(words.size, -1)
        given = self.given(name)
        for place, word in enumerate(known):
            found[given & (words.data == word)] = place
        self.refuse(given & (found < 0), name, f"known: {', '.join(known)}")
        return found

    def refuse(self, odd: Bits, name: str, rule: str) -> None:
        if not odd.any():
            return
        first = int(np.argmax(odd))
        value = f" = {self.table[name][first]}" if self.given(name)[first] else ""
        raise BadInput(f"{self.where}, row {self.table['n'][first]}: {name}{value}: {rule}")
