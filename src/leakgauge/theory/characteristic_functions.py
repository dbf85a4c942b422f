"""Distributions of sums of scores by characteristic functions, and the rates that thresholds on them reach.

The scores of single cells are kept as probabilities on nodes that all kinds of cells share. A score need not
be the privacy loss: an attacker who assumes other rates than the true ones adds up other scores. Nodes are
dense near zero, where the scores of the least informative cells are. A characteristic function at the
frequencies of a period gives the distribution of a score that lies within the period (Gil-Pelaez 1951, on a
period instead of the line).
"""

from dataclasses import dataclass
from math import asinh, ceil
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Waves: TypeAlias = npt.NDArray[np.complexfloating[Any, Any]]

FPR = 0.01  # at which the TPR is computed
LARGEST_SCORE = 30.0  # larger scores decide with certainty
_NEAR, _PART = 0.02, 0.1  # nodes are even up to here, or to this part of the largest score
_GAP = 0.025  # between nodes beyond, as a share of the score
_FADE = 10.0  # the highest frequency is damped by e^-10
_LOUD = 0.005  # a characteristic function of this size at a high frequency matters


@dataclass(frozen=True, eq=False)
class ScoreLaws:
    """Kinds of cells: a row each, with the probabilities of the nodes for a member and for a non-member.

    The first and the last node are minus and plus infinity: outputs that decide with certainty.
    """

    nodes: Reals
    members: Reals
    others: Reals

    @property
    def n_kinds(self) -> int:
        return int(self.members.shape[0])

    def only(self, kinds: npt.NDArray[np.bool_]) -> "ScoreLaws":
        """Some of the kinds."""
        return ScoreLaws(self.nodes, self.members[kinds], self.others[kinds])

    def mixed(self, weights: Reals) -> "ScoreLaws":
        """Random mixtures of these kinds, a row of weights each; the attacker sees which kind was drawn."""
        return ScoreLaws(self.nodes, weights @ self.members, weights @ self.others)

    def replaced(self, chances: Reals) -> "ScoreLaws":
        """The same kinds where a non-member is replaced by somebody who moves the cell with this chance.

        The outputs without the target are then distributed as (1 - r) others + r members, and the loss of an
        output changes from L to L - ln(1 + r (e^L - 1)).
        """
        r = chances[:, None]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            scores = np.where(
                self.nodes > 0,
                -np.log((1 - r) * np.exp(-self.nodes) + r),
                self.nodes - np.log1p(r * np.expm1(np.minimum(self.nodes, 0.0))),
            )
        scores = np.where(r == 1, 0.0, scores)
        others = (1 - r) * self.others + r * self.members
        kinds = np.repeat(np.arange(self.n_kinds), self.nodes.size)
        return laws_on_nodes(
            self.nodes, self.n_kinds, kinds, scores.ravel(), self.members.ravel(), others.ravel()
        )


def score_nodes(largest: float) -> Reals:
    """Nodes for finite scores up to ``largest`` on either side."""
    largest = float(np.clip(largest, 1e-9, LARGEST_SCORE))
    near = min(_NEAR, _PART * largest)
    n = ceil(asinh(largest / near) / _GAP)
    finite = largest * np.sinh(np.linspace(-1, 1, 2 * n + 1) * asinh(largest / near)) / (largest / near)
    return np.concatenate([[-np.inf], finite, [np.inf]])


def laws_on_nodes(
    nodes: Reals,
    n_kinds: int,
    kinds: npt.NDArray[np.int64],
    scores: Reals,
    members: Reals,
    others: Reals,
) -> ScoreLaws:
    """Put outputs, each of a kind, with a score and its probabilities in both worlds, on the nodes.

    A score is split between its two neighbouring nodes so that its mean is kept.
    """
    if not kinds.shape == scores.shape == members.shape == others.shape:
        raise BadInput(f"{scores.size} scores, but {kinds.size} kinds and {members.size} probabilities")
    finite = nodes[1:-1]
    slack = 1e-9 * finite[-1]  # of rounding
    inside = (scores >= finite[0] - slack) & (scores <= finite[-1] + slack)
    near = np.clip(np.where(inside, scores, 0.0), finite[0], finite[-1])
    left = np.clip(np.searchsorted(finite, near, side="right") - 1, 0, finite.size - 2)
    share = (near - finite[left]) / (finite[left + 1] - finite[left])
    left = np.where(inside, left + 1, np.where(scores > 0, nodes.size - 1, 0))
    right = np.where(inside, left + 1, left)
    places = np.concatenate([kinds * nodes.size + left, kinds * nodes.size + right])
    members, others = (
        np.bincount(
            places, np.concatenate([masses * (1 - share), masses * share]), minlength=n_kinds * nodes.size
        )
        .astype(np.float64)
        .reshape(n_kinds, nodes.size)
        for masses in (members, others)
    )
    return ScoreLaws(nodes, members, others)


@dataclass(frozen=True)
class Resolution:
    """How finely a distribution is resolved: ``n`` frequencies, damped by e^(-10 (k / n)^power).

    With power 2 the rates are those of an attacker who adds a little Gaussian noise to the score: never too
    high, and accurate for scores concentrated on few values. With power 4 smooth distributions need far fewer
    frequencies, but rates may be too high by a little.
    """

    n: int
    power: int
    grid: int  # thresholds per frequency
    single: bool = True  # whether single precision is enough; it is twice as fast, and errs by some 1e-5

    def finer(self, times: int) -> "Resolution":
        """``times`` as many frequencies, in double precision; once changes nothing."""
        return self if times == 1 else Resolution(times * self.n, self.power, self.grid, single=False)

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        return np.dtype(np.float32 if self.single else np.float64)

    @property
    def fade(self) -> Reals:
        return np.exp(-_FADE * (np.arange(1, self.n + 1) / (self.n + 1)) ** self.power)


@dataclass(frozen=True, eq=False)
class CharacteristicTable:
    """Log characteristic functions of each kind in both worlds, at the frequencies of a period.

    ``columns`` hold, kinds x frequencies side by side: the log modulus for members and for others, the angle
    for members and for others, then for each world the log chance that the score is not minus infinity, and
    for each world the log chance that it is finite. If ``mirrored``, the scores of others are distributed as
    minus those of members, all are finite, and the columns are the log modulus and the angle for members.
    """

    period: float
    columns: Floats
    resolution: Resolution
    mirrored: bool = False

    @classmethod
    def of(cls, laws: ScoreLaws, period: float, resolution: Resolution) -> "CharacteristicTable":
        """Compute the table of a period."""
        n, first = resolution.n, np.exp(2j * np.pi / period * laws.nodes[1:-1])
        waves = np.cumprod(np.broadcast_to(first[:, None], (first.size, n)), axis=1)
        real, imaginary = (
            np.ascontiguousarray(side, dtype=resolution.dtype) for side in (waves.real, waves.imag)
        )
        columns = np.empty((laws.n_kinds, 4 * n + 4), dtype=resolution.dtype)
        for i, world in enumerate((laws.members, laws.others)):
            inside = world[:, 1:-1].astype(resolution.dtype)
            x, y = inside @ real, inside @ imaginary
            columns[:, i * n : (i + 1) * n] = _log(np.hypot(x, y))
            columns[:, (i + 2) * n : (i + 3) * n] = np.arctan2(y, x)
            columns[:, 4 * n + i] = _log(1 - world[:, 0])
            columns[:, 4 * n + 2 + i] = _log(world[:, 1:-1].sum(axis=1))
        return cls(period, columns, resolution)

    def lumpy(self, logs: Floats) -> npt.NDArray[np.bool_]:
        """Targets whose scores are concentrated on few values, for which these frequencies are too few.

        ``logs`` are targets x columns, the number of cells of each kind times the table.
        """
        n = self.resolution.n
        high = np.arange(n // 2, n, max(1, n // 64))
        both = high if self.mirrored else np.concatenate([high, n + high])
        return np.asarray(np.max(logs[:, both], axis=1) > np.log(_LOUD))


@dataclass(frozen=True, eq=False)
class SummedScores:
    """The summed scores of some targets, in both worlds: of members and of others."""

    table: CharacteristicTable
    waves: tuple[Waves, Waves]  # characteristic functions of finite scores
    inside: tuple[Floats, Floats]  # how often the score is finite
    sure: tuple[Floats, Floats]  # how often it is plus infinity

    @classmethod
    def of(cls, table: CharacteristicTable, logs: Floats) -> "SummedScores":
        """Sum up: ``logs`` are targets x columns, the number of cells of each kind times the table."""
        n = table.resolution.n
        half = n if table.mirrored else 2 * n
        waves = np.empty((len(logs), half), dtype=np.result_type(logs, np.complex64))
        size, angle = np.exp(logs[:, :half]), logs[:, half : 2 * half]
        np.multiply(size, np.cos(angle), out=waves.real)
        np.multiply(size, np.sin(angle), out=waves.imag)
        if table.mirrored:
            all_, none = np.ones(len(logs), dtype=logs.dtype), np.zeros(len(logs), dtype=logs.dtype)
            return cls(table, (waves, np.conj(waves)), (all_, all_), (none, none))
        not_out, inside = np.exp(logs[:, 4 * n : 4 * n + 2].T), np.exp(logs[:, 4 * n + 2 :].T)
        sure = np.maximum(not_out - inside, 0.0)
        return cls(table, (waves[:, :n], waves[:, n:]), (inside[0], inside[1]), (sure[0], sure[1]))

    def rates(self, starts: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        """The best accuracy, the AUC, the TPR at 1 % FPR, and the accuracy at a threshold of zero.

        Scores lie above ``starts``.
        """
        tpr, fpr, first = self._on_grid(starts)
        within = (starts <= 0) & (starts > -self.table.period)  # else finite scores are on one side of zero
        outside = [np.where(starts > 0, mass, 0.0) + sure for mass, sure in zip(self.inside, self.sure)]
        at_zero = (1 + np.where(within, tpr[:, 0] - fpr[:, 0], outside[0] - outside[1])) / 2
        return _best(tpr, fpr, first), _area(tpr, fpr, first), _at_fpr(tpr, fpr, first), at_zero

    def tails(self, starts: Reals, thresholds: Reals) -> tuple[Floats, Floats]:
        """The TPR and the FPR of each target at the same thresholds: targets x thresholds.

        Between two places of the grid they are linear.
        """
        *worlds, _ = self._on_grid(starts)
        period, size = self.table.period, worlds[0].shape[1]
        places = np.floor(thresholds / period * size).astype(np.int64)
        share = (thresholds / period * size - places).astype(worlds[0].dtype)
        first = np.floor(starts / period * size).astype(np.int64)[:, None]  # where the circle is cut
        below, beyond = places <= first, places >= first + size - 1
        tails = []
        for above, mass, sure in zip(worlds, self.inside, self.sure):
            each = above[:, places % size] * (1 - share) + above[:, (places + 1) % size] * share
            each = np.where(below, (mass + sure)[:, None], np.where(beyond, sure[:, None], each))
            tails.append(np.clip(each, 0.0, 1.0))
        return tails[0], tails[1]

    def _on_grid(self, starts: Reals) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
        """The TPR and the FPR at each place of the grid, and the place where it starts.

        The grid of thresholds is circular: from the start to the end of the period, then from its beginning.
        """
        size = self.table.resolution.n * self.table.resolution.grid
        first = np.floor(starts / self.table.period * size).astype(np.int64) % size
        rise = (
            np.arange(size, dtype=self.table.resolution.dtype)
            - first.astype(self.table.resolution.dtype)[:, None]
        )
        rise[rise < 0] += size
        rise /= size
        tpr, fpr = (
            self._above(waves, first, rise, mass, sure)
            for waves, mass, sure in zip(self.waves, self.inside, self.sure)
        )
        return tpr, fpr, first

    def _above(
        self, waves: Waves, first: npt.NDArray[np.int64], rise: Floats, mass: Floats, sure: Floats
    ) -> Floats:
        """The chance to score above each place of the grid."""
        k, size = np.arange(1, self.table.resolution.n + 1), rise.shape[1]
        series = np.zeros((len(waves), size // 2 + 1), dtype=waves.dtype)
        weights = (self.table.resolution.fade / (np.pi * k) * size / 2).astype(self.table.resolution.dtype)
        np.multiply(np.conj(waves), 1j * weights, out=series[:, 1 : k.size + 1])
        above: Floats = irfft(series, size, axis=1)
        above += (mass + sure - above[np.arange(len(above)), first])[:, None]
        above -= mass[:, None] * rise
        return above


def _best(tpr: Floats, fpr: Floats, first: npt.NDArray[np.int64]) -> Reals:
    """The accuracy at the best threshold, interpolated between thresholds by a parabola.

    The lowest and the highest threshold are neighbours on the circular grid only: where certain decisions put
    the best threshold at an end, there is no parabola.
    """
    gain = tpr - fpr
    size, rows = gain.shape[1], np.arange(len(gain))
    place = np.argmax(gain, axis=1)
    before, top, after = (gain[rows, (place + i) % size].astype(np.float64) for i in (-1, 0, 1))
    bend = before - 2 * top + after
    inside = (place != first) & (place != (first - 1) % size) & (bend < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = top - np.where(inside, (after - before) ** 2 / (8 * bend), 0.0)
    return np.clip((1 + np.maximum(peak, 0.0)) / 2, 0.5, 1.0)


def _area(tpr: Floats, fpr: Floats, first: npt.NDArray[np.int64]) -> Reals:
    """The area under straight lines from threshold to threshold, and to both corners."""
    rows, last = np.arange(len(fpr)), (first - 1) % fpr.shape[1]
    steps, heights = fpr[:, :-1] - fpr[:, 1:], tpr[:, :-1] + tpr[:, 1:]
    inside = np.einsum("ij,ij->i", steps, heights, dtype=np.float64)
    inside += (fpr[:, -1] - fpr[:, 0]) * (tpr[:, -1] + tpr[:, 0])  # round the end of the grid
    (f0, f1), (t0, t1) = ((rates[rows, first], rates[rows, last]) for rates in (fpr, tpr))
    inside -= (f1 - f0) * (t1 + t0)  # but not from the last threshold to the first
    return np.clip((inside + f1 * t1 + (1 - f0) * (1 + t0)) / 2, 0.0, 1.0)


def _at_fpr(tpr: Floats, fpr: Floats, first: npt.NDArray[np.int64]) -> Reals:
    """The TPR at an FPR of 1 %, linear between the thresholds of the grid and outside of it."""
    size, rows = fpr.shape[1], np.arange(len(fpr))
    alarms = np.count_nonzero(fpr >= FPR, axis=1)
    places = [(first + np.clip(alarms - i, 0, size - 1)) % size for i in (1, 0)]
    (more, fewer), (high, low) = (
        [rates[rows, place].astype(np.float64) for place in places] for rates in (fpr, tpr)
    )
    more, high = np.where(alarms > 0, more, 1.0), np.where(alarms > 0, high, 1.0)
    fewer, low = np.where(alarms < size, fewer, 0.0), np.where(alarms < size, low, 0.0)
    share = np.clip((FPR - fewer) / np.maximum(more - fewer, 1e-300), 0.0, 1.0)
    return np.clip(low + share * (high - low), 0.0, 1.0)


def _log(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(np.log(np.maximum(values, 1e-30)))
