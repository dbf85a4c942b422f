"""Characteristic functions of sums of scores, and what thresholds on the scores reach.

A characteristic function at the frequencies of a period gives the law of a score that lies within the period
(Gil-Pelaez 1951, on a period instead of the line).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.theory.score_laws import ScoreLaws

Floats = npt.NDArray[np.float32]  # single precision is plenty for rates, and twice as fast
Waves = npt.NDArray[np.complex64]

FPR = 0.01
STARTS = 8  # a period of differences starts at a whole number of eighths of it
_FADE = 10.0  # the highest frequency fades by e^-10
_LOUD = 0.005  # the size of a high frequency from which on it matters


@dataclass(frozen=True)
class Effort:
    """How finely a law is resolved: ``n`` frequencies that fade as e^(-10 (k / n)^power).

    With power 2 the rates are those of an adversary who adds a little Gaussian noise to the score: never too
    high, and good for scores that lie in lumps. With power 4 smooth laws need far fewer frequencies, but
    rates may err upward.
    """

    n: int
    power: int
    grid: int  # thresholds per frequency

    @property
    def fade(self) -> Reals:
        return np.exp(-_FADE * (np.arange(1, self.n + 1) / (self.n + 1)) ** self.power)


@dataclass(frozen=True, eq=False)
class Table:
    """Of each kind in both worlds: the log characteristic function at the frequencies of a period.

    ``columns`` hold, kinds x frequencies side by side, its size for members and others, then its angles; then
    for each world the log chance not to be decided "out" for sure, and the log chance of a finite score.
    """

    period: float
    columns: Floats
    effort: Effort

    @classmethod
    def of(cls, laws: ScoreLaws, period: float, effort: Effort) -> "Table":
        """Compute the table of a period."""
        n, first = effort.n, np.exp(2j * np.pi / period * laws.nodes[1:-1])
        waves = np.cumprod(np.broadcast_to(first[:, None], (first.size, n)), axis=1)
        real, imaginary = (np.ascontiguousarray(part, dtype=np.float32) for part in (waves.real, waves.imag))
        columns = np.empty((laws.n_kinds, 4 * n + 4), dtype=np.float32)
        for i, world in enumerate((laws.members, laws.others)):
            inside = world[:, 1:-1].astype(np.float32)
            x, y = inside @ real, inside @ imaginary
            columns[:, i * n : (i + 1) * n] = _log(np.hypot(x, y))
            columns[:, (i + 2) * n : (i + 3) * n] = np.arctan2(y, x)
            columns[:, 4 * n + i] = _log(1 - world[:, 0])
            columns[:, 4 * n + 2 + i] = _log(world[:, 1:-1].sum(axis=1))
        return cls(period, columns, effort)

    def lumpy(self, cells: csr_array) -> npt.NDArray[np.bool_]:
        """Whose scores lie in lumps that these frequencies are too few to tell from smooth laws."""
        n = self.effort.n
        high = np.arange(n // 2, n, max(1, n // 64))
        loudness = cells.astype(np.float32) @ self.columns[:, np.concatenate([high, n + high])]
        return np.asarray(np.max(loudness, axis=1) > np.log(_LOUD))


@dataclass(frozen=True, eq=False)
class Sums:
    """The scores of some targets, of members and of others."""

    table: Table
    waves: tuple[Waves, Waves]  # characteristic functions of finite scores
    inside: tuple[Floats, Floats]  # how often the score is finite
    sure: tuple[Floats, Floats]  # how often it says "in" for sure
    out: tuple[Floats, Floats]  # how often it says "out" for sure

    @classmethod
    def of(cls, table: Table, logs: Floats) -> "Sums":
        n = table.effort.n
        waves = np.empty((len(logs), 2 * n), dtype=np.complex64)
        size, angle = np.exp(logs[:, : 2 * n]), logs[:, 2 * n : 4 * n]
        np.multiply(size, np.cos(angle), out=waves.real)
        np.multiply(size, np.sin(angle), out=waves.imag)
        not_out, inside = np.exp(logs[:, 4 * n : 4 * n + 2].T), np.exp(logs[:, 4 * n + 2 :].T)
        sure, out = np.maximum(not_out - inside, 0.0), 1 - not_out
        return cls(
            table,
            (waves[:, :n], waves[:, n:]),
            (inside[0], inside[1]),
            (sure[0], sure[1]),
            (out[0], out[1]),
        )

    def curve(self, starts: Reals) -> tuple[Reals, Reals]:
        """The best accuracy, and the TPR at 1 % FPR, of thresholds on a grid; scores lie above ``starts``.

        The grid goes round the period: a score rises from the start to the end of the grid, then on from its
        beginning.
        """
        size = self.table.effort.n * self.table.effort.grid
        first = np.floor(starts / self.table.period * size).astype(np.int64) % size
        rise = np.arange(size, dtype=np.float32) - first.astype(np.float32)[:, None]
        rise[rise < 0] += size
        rise /= np.float32(size)
        tpr, fpr = (
            self._above(waves, first, rise, mass, sure)
            for waves, mass, sure in zip(self.waves, self.inside, self.sure)
        )
        return _best(tpr, fpr), _at_fpr(tpr, fpr, first)

    def _above(
        self, waves: Waves, first: npt.NDArray[np.int64], rise: Floats, mass: Floats, sure: Floats
    ) -> Floats:
        """The chance to score above each place of the grid."""
        k, size = np.arange(1, self.table.effort.n + 1), rise.shape[1]
        series = np.zeros((len(waves), size // 2 + 1), dtype=np.complex64)
        weights = (self.table.effort.fade / (np.pi * k) * size / 2).astype(np.float32)
        np.multiply(np.conj(waves), 1j * weights, out=series[:, 1 : k.size + 1])
        above: Floats = irfft(series, size, axis=1)
        above += (mass + sure - above[np.arange(len(above)), first])[:, None]
        above -= mass[:, None] * rise
        return above

    def area(self, starts: Reals) -> Reals:
        """The chance that a member scores higher than a non-member, equal scores counted half."""
        k, period = np.arange(1, self.table.effort.n + 1), self.table.period
        difference = self.waves[0] * np.conj(self.waves[1])
        eighths = np.floor(starts / period * STARTS)
        turns = np.exp(-2j * np.pi / STARTS * np.multiply.outer(k, np.arange(STARTS)))
        weights = (1 - turns) * (self.table.effort.fade / (np.pi * k))[:, None]
        steps = difference.imag @ weights.real.astype(np.float32)
        steps += difference.real @ weights.imag.astype(np.float32)
        both = self.inside[0] * self.inside[1]
        column = eighths.astype(np.int64)[:, None] % STARTS
        lower = -both * eighths / STARTS - np.take_along_axis(steps, column, axis=1)[:, 0]
        # Where the period lies on one side of zero, so do all differences.
        lower = np.where(eighths >= 0, 0.0, np.where(eighths <= -STARTS, both, np.clip(lower, 0.0, both)))
        (in1, in0), (out1, out0) = self.sure, self.out
        won = in1 * self.inside[1] + (1 - out1) * out0 + (in1 * in0 + out1 * out0) / 2
        return np.clip(both - lower + won, 0.0, 1.0)


def _best(tpr: Floats, fpr: Floats) -> Reals:
    """The accuracy at the best threshold, between the places of the grid too: the top of a parabola."""
    gain = tpr - fpr
    size, rows = gain.shape[1], np.arange(len(gain))
    place = np.argmax(gain, axis=1)
    before, top, after = (gain[rows, (place + i) % size].astype(np.float64) for i in (-1, 0, 1))
    bend = before - 2 * top + after
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = top - np.where(bend < 0, (after - before) ** 2 / (8 * bend), 0.0)
    return np.clip((1 + np.maximum(peak, 0.0)) / 2, 0.5, 1.0)


def _at_fpr(tpr: Floats, fpr: Floats, first: npt.NDArray[np.int64]) -> Reals:
    """The TPR at an FPR of 1 %; between the places of the grid, and outside of it, in straight lines."""
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
