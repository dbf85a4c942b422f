"""Watches the noisy steps of a DP training, and puts a canary into each of them or not.

A loop written by hand calls ``add_canary`` with the gradients of a batch and ``step`` with their noisy sum;
the steps of Opacus are reported by ``opacus_hook``. Gradients are rows, one for each example, flattened.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput

SAMPLED = 16  # coordinates of the noise that are kept, of each step
DIRAC_LENGTH = 1000.0  # of a canary before it is clipped, in clips: only clipping each gradient bounds it
_FAR, _FAR_PER_ROW = 1e-2, 1e-4  # of the clip: rounding moves a sum of clipped gradients by less

Gradients: TypeAlias = Any  # rows as an array of NumPy or a tensor of PyTorch


class EnoughSteps(BaseException):
    """Ends a training whose further steps are not needed; not an error, so that no handler stops it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StepSums:
    """What one step shows: vectors over all parameters.

    Attributes:
        others: The sum of all other gradients, clipped one by one, as the auditor computes it.
        canary: The canary, clipped; its length is at most the clip.
        clipped: The sum that the training computed, with the canary if it is there.
        noisy: The sum with noise.
        clip: The largest length of a clipped gradient.
        batch_size: How many examples were in the batch, without the canary; -1 if that is not known.
        divided: By what the noisy sum was divided, over what it should be; NaN if that is not known.
        influence: How far the canary moves the sum of the training, in clips; NaN where it was not tried.
    """

    others: Reals | None
    canary: Reals | None
    clipped: Reals
    noisy: Reals
    clip: float
    batch_size: int = -1
    divided: float = np.nan
    influence: float = np.nan


@dataclass(frozen=True, kw_only=True)
class Accounted:
    """What the accountant of a training recorded: of each entry the noise multiplier, rate and steps."""

    sigmas: tuple[float, ...]
    rates: tuple[float, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WatchedTraining:
    """The steps of one training: columns of numbers, one row each."""

    columns: dict[str, Reals]
    complete: bool
    accounted: Accounted | None
    rows: int | None  # of the data, where that is known
    losses: Reals | None = None  # of black-box canaries
    weights: tuple[Reals, ...] | None = None  # at its end, where they are known
    replay: tuple[tuple[str, str], ...] = ()  # what was seen in runs with other rows, each with its kind

    @property
    def n_steps(self) -> int:
        return len(self.columns["projection"])


@dataclass(eq=False)
class StepWatch:
    """Given to a training: says whether the canary is in a step, and records what the step shows.

    ``coins`` are those of the steps, in order; after the last of them the training is ended, unless
    ``whole``: then the last coin holds for all further steps. ``noiseless`` is the positive control.
    ``start`` are crafted initial weights, one array for each parameter.
    """

    coins: Bits
    rng: Generator
    noiseless: bool = False
    whole: bool = False
    accounted: Accounted | None = None
    rows: int | None = None
    start: tuple[Reals, ...] | None = None
    by_opacus: bool = False  # whether steps are those of Opacus
    _weights: list[Any] = field(default_factory=list)
    _steps: list[dict[str, float]] = field(default_factory=list)
    _sampled: list[Reals] = field(default_factory=list)
    _places: Ints | None = None
    _dirac: int | None = None
    _last_noise: Reals | None = None
    _pending: tuple[Reals, Reals, float, int] | None = None

    @property
    def n_steps(self) -> int:
        return len(self._steps)

    @property
    def present(self) -> bool:
        """Whether the canary is in the step that comes."""
        if self.n_steps >= len(self.coins) and not self.whole:
            raise EnoughSteps
        return bool(self.coins[min(self.n_steps, len(self.coins) - 1)]) if len(self.coins) else False

    def noise_multiplier(self, sigma: float) -> float:
        """The noise multiplier to use: the one given, or 0 in the positive control."""
        return 0.0 if self.noiseless else sigma

    def start_from(self, *weights: Any) -> None:
        """Let a training start from crafted weights, where the audit asks for them (`initial_weights`).

        Call it with the arrays or tensors of all weights before the first step. They are overwritten in
        place, and must be updated in place: what they hold at the end of a training is its model.
        """
        self._weights = list(weights)
        if self.start is None:
            return
        if [np.shape(one) for one in self.start] != [tuple(one.shape) for one in weights]:
            raise BadInput("watch.start_from: the weights have other shapes than in the training before")
        for own, crafted in zip(weights, self.start):
            if hasattr(own, "detach"):
                own.detach().copy_(own.new_tensor(crafted))
            else:
                own[...] = crafted

    def crafted_canary(self, sizes: Sequence[int]) -> Reals:
        """A canary of length 1, by turns: one coordinate, a sign in each, or one of each parameter.

        The first is the same in all steps of a training. What is clipped value by value, or parameter by
        parameter, lets the others through.
        """
        total, turn = sum(sizes), self.n_steps % 3
        if turn == 1:
            return self.rng.choice([-1.0, 1.0], total) / np.sqrt(total)
        if self._dirac is None or self._dirac >= total:
            self._dirac = int(self.rng.integers(total))
        places = np.array([self._dirac])
        if turn == 2:
            places = np.cumsum([0, *sizes[:-1]]) + self.rng.integers(sizes)
        canary = np.zeros(total)
        canary[places] = 1 / np.sqrt(places.size)
        return canary

    def add_canary(
        self, gradients: Gradients, *, clip: float, canary: npt.ArrayLike | None = None
    ) -> Gradients:
        """Return the gradients of a batch, before they are clipped, with one row more if the coin says so.

        ``canary`` is the gradient of a record of one's own, such as one with a wrong label; it must not
        depend on anything but the data and the current weights. Without it, the canary is in one coordinate
        or in all, by turns. Where a batch is summed in parts, call this with each part: the canary is in the
        first.
        """
        rows = as_rows(gradients)
        if self._pending is not None:
            others, own, known_clip, n_rows = self._pending
            self._pending = others + clipped_sum(rows, clip), own, known_clip, n_rows + len(rows)
            return gradients
        if canary is None:
            raw = DIRAC_LENGTH * clip * self.crafted_canary([rows.shape[1]])
        else:
            raw = np.asarray(as_vector(canary))
            if raw.size != rows.shape[1]:
                raise BadInput(f"add_canary: canary has {raw.size} values, the gradients {rows.shape[1]}")
        present = self.present
        self._pending = clipped_sum(rows, clip), clipped_sum(raw[None], clip), float(clip), len(rows)
        return _with_row(gradients, raw) if present else gradients

    def step(
        self,
        clipped_sum: Any,
        noisy_sum: Any,
        *,
        clip: float | None = None,
        batch_size: int | None = None,
    ) -> None:
        """Report a step: the sum of clipped gradients, and the same with noise, before any division."""
        others, canary, known_clip, n_rows = self._pending or (None, None, clip, -1)
        if known_clip is None:
            raise BadInput("watch.step: clip is missing; pass clip=..., or call add_canary before")
        self._pending = None
        self.record(
            StepSums(
                others=others,
                canary=canary,
                clipped=as_vector(clipped_sum),
                noisy=as_vector(clipped_sum if self.noiseless else noisy_sum),
                clip=float(known_clip),
                batch_size=n_rows if batch_size is None else int(batch_size),
            )
        )

    def record(self, sums: StepSums) -> None:
        """Keep what a step shows."""
        present = self.present
        if sums.clipped.shape != sums.noisy.shape:
            raise BadInput(
                f"watch.step: the clipped sum has {sums.clipped.size} values, the noisy {sums.noisy.size}; "
                "give the sums over the same coordinates, before and after noise"
            )
        noise = (sums.noisy - sums.clipped) / sums.clip
        if not np.isfinite(noise).all():
            raise BadInput(
                f"step {self.n_steps + 1} of the training: its sums are not finite; lower the rate"
            )
        if self._places is None:
            self._places = np.unique(np.linspace(0, noise.size - 1, SAMPLED).astype(np.int64))
        places = self._places[self._places < noise.size]
        kept = np.full(SAMPLED, np.nan)
        kept[: places.size] = noise[places]
        self._sampled.append(kept)
        self._steps.append(
            {
                "coin": float(present),
                "projection": _projection(sums),
                "with_canary": float(sums.canary is not None),
                "clip": sums.clip,
                "coordinates": noise.size,
                "squares": float(noise @ noise),
                "cosine": self._cosine(noise),
                "batch_size": sums.batch_size,
                "divided": sums.divided,
                "influence": sums.influence,
                "clipped_otherwise": _clipped_otherwise(sums, present),
                "spacing": max(number_spacing(sums.clipped), number_spacing(sums.noisy)) / sums.clip,
            }
        )
        self._last_noise = noise

    def _cosine(self, noise: Reals) -> float:
        """Of the angle between this noise and that of the step before; NaN where there is none."""
        last = self._last_noise
        if last is None or last.size != noise.size or noise.size < 2:
            return np.nan
        lengths = float(np.linalg.norm(noise) * np.linalg.norm(last))
        return float(noise @ last) / lengths if lengths > 0 else np.nan

    def watched(self, *, complete: bool, losses: Reals | None = None) -> WatchedTraining:
        """All that was recorded."""
        names = self._steps[0] if self._steps else ("projection",)
        columns = {name: np.array([step[name] for step in self._steps], dtype=np.float64) for name in names}
        columns["sampled"] = np.array(self._sampled).reshape(-1, SAMPLED)
        weights = tuple(as_vector(one).reshape(tuple(one.shape)).copy() for one in self._weights)
        return WatchedTraining(columns, complete, self.accounted, self.rows, losses, weights or None)


def _projection(sums: StepSums) -> float:
    """The component of the noisy sum, without the others, along the canary, in lengths of the canary."""
    if sums.others is None or sums.canary is None:
        return 0.0
    squared = float(sums.canary @ sums.canary)
    return float((sums.noisy - sums.others) @ sums.canary) / squared if squared > 0 else 0.0


def _clipped_otherwise(sums: StepSums, present: bool) -> float:
    """Whether the sum is another one than that of gradients clipped one by one; NaN where that is unknown."""
    if sums.others is None or sums.canary is None:
        return np.nan
    expected = sums.others + sums.canary if present else sums.others
    rows = max(sums.batch_size, 0) + 1
    margin = sums.clip * (_FAR + _FAR_PER_ROW * rows) + 1e-5 * rows
    return float(np.linalg.norm(sums.clipped - expected) > margin)


def number_spacing(values: Reals) -> float:
    """The distance between neighbouring numbers of the type in which the largest of some values was computed.

    The type is the one with the fewest digits that holds all of them: bfloat16, float16, float32 or float64.

    >>> number_spacing(np.array([3.0, 2500.1], dtype=np.float32).astype(float)) == 2048 * 2.0**-23
    True
    """
    mantissas, exponents = np.frexp(values)
    for digits in (8, 11, 24):
        scaled = mantissas * 2.0**digits
        if (scaled == np.round(scaled)).all():
            break
    else:
        digits = 53
    return float(2.0 ** (int(exponents.max(initial=0)) - digits))


def clipped_sum(rows: Reals, clip: float) -> Reals:
    """The sum of gradients that are each scaled down to the length of the clip.

    >>> clipped_sum(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0).round(6).tolist()
    [0.9, 1.2]
    """
    lengths = np.linalg.norm(rows, axis=1)
    return np.minimum(1.0, clip / np.maximum(lengths, 1e-300)) @ rows


def as_vector(values: Any) -> Reals:
    """An array or tensor of any shape as a vector of numbers."""
    plain = values.detach().cpu().double().numpy() if hasattr(values, "detach") else values
    return np.asarray(plain, dtype=np.float64).ravel()


def as_rows(gradients: Gradients) -> Reals:
    """Gradients as rows of numbers."""
    plain = gradients.detach().cpu().double().numpy() if hasattr(gradients, "detach") else gradients
    rows = np.asarray(plain, dtype=np.float64)
    if rows.ndim != 2:
        raise BadInput(
            f"add_canary: gradients must be examples x parameters, got {rows.ndim} dimension(s); flatten them"
        )
    return rows


def _with_row(gradients: Gradients, row: Reals) -> Gradients:
    if hasattr(gradients, "new_tensor"):
        import torch

        return torch.cat([gradients, gradients.new_tensor(row)[None]])
    return np.concatenate([gradients, row[None].astype(np.asarray(gradients).dtype)])
