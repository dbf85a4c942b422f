"""The kinds of answers whose privacy loss is tabulated: noise, scale and shift of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.incidence import Incidence
from leakgauge.domains.queries.log.noise_families import LossForm, NoiseFamily
from leakgauge.theory.loss_tables import LossTables
from leakgauge.theory.privacy_loss import NoisyCell, ResponseCell

Keys: TypeAlias = npt.NDArray[np.complex128]

CERTAIN = 700.0  # a shift of this many scales is always detected
MOST_TABULATED = 2048
STEPS = (
    0.001,
    0.004,
    0.016,
)  # shares by which shifts are rounded up, the next where kinds are still too many


@dataclass(frozen=True, eq=False)
class TabulatedKinds:
    """All kinds that occur: for each noise, scale + i shift in rising order.

    Continuous noise has scale 1 and the shift in scales. ``rounded`` is the share by which rounding may have
    increased shifts: under log-concave noise a larger shift reveals no less.
    """

    answers: LoggedAnswers
    keys: tuple[Keys, ...]  # one array for each noise of the log
    rounded: float

    def __len__(self) -> int:
        return sum(keys.size for keys in self.keys)

    def positions(self, queries: npt.NDArray[np.integer], sizes: Reals) -> npt.NDArray[np.int32]:
        """Return the kind of answers that a record shifts by some size, -1 for none of these kinds."""
        positions, first = np.full(queries.size, -1, dtype=np.int32), 0
        for (rows, keys), known in zip(_keys(self.answers, queries, sizes, self.rounded), self.keys):
            positions[rows] = first + np.searchsorted(known, keys)
            first += known.size
        return positions

    @property
    def families(self) -> Ints:
        """The noise of each kind, as a position in ``answers.families``."""
        return np.repeat(np.arange(len(self.keys)), [keys.size for keys in self.keys])

    @cached_property
    def cells(self) -> tuple[NoisyCell, ...]:
        """The privacy loss of each kind."""
        return tuple(family.cell(scale, shift) for family, scale, shift in self._kinds())

    @property
    def bounded_names(self) -> list[str]:
        """Name the mechanisms with an answer whose privacy loss is unknown, and only bounded."""
        kinds = zip(self.cells, self.families.tolist(), strict=True)
        places = {place for cell, place in kinds if isinstance(cell, ResponseCell)}
        return [self.answers.families[place].name for place in sorted(places)]

    @cached_property
    def largest_losses(self) -> Reals:
        """The largest privacy loss of each kind; infinite where there is none."""
        return np.array([family.largest_loss(scale, shift) for family, scale, shift in self._kinds()])

    def _kinds(self) -> Iterator[tuple[NoiseFamily, float, float]]:
        for family, keys in zip(self.answers.families, self.keys, strict=True):
            yield from ((family, key.real, key.imag) for key in keys.tolist())

    @cached_property
    def tables(self) -> LossTables:
        """The privacy loss of each kind, tabulated."""
        return LossTables.of(self.cells)


def tabulated_kinds(answers: LoggedAnswers, sparse: Incidence) -> TabulatedKinds:
    """Find all kinds, rounded up if there are too many."""
    nothing = tuple(np.zeros(0, dtype=np.complex128) for _ in answers.families)
    if not answers.has_form(LossForm.TABULATED).any():
        return TabulatedKinds(answers, nothing, 0.0)
    for step in (0.0, *STEPS):
        found = nothing
        for queries, sizes in _pairs(answers, sparse):
            pairs = zip(found, _keys(answers, queries, sizes, step), strict=True)
            found = tuple(np.unique(np.concatenate([before, keys])) for before, (_, keys) in pairs)
            if (many := sum(map(len, found)) > MOST_TABULATED) and step != STEPS[-1]:
                break
        if not many or step == STEPS[-1]:
            break
    return TabulatedKinds(answers, found, step)


def _pairs(answers: LoggedAnswers, sparse: Incidence) -> Iterator[tuple[npt.NDArray[np.integer], Reals]]:
    """Return answers and the sizes of their shifts, in blocks."""
    if sparse.contributions is None:
        yield np.arange(len(answers)), answers.bound
        return
    for block in sparse.blocks():
        own = slice(int(sparse.starts[block.start]), int(sparse.starts[block.stop]))
        yield sparse.queries[own], np.abs(sparse.contributions[own])


def _keys(
    answers: LoggedAnswers, queries: npt.NDArray[np.integer], sizes: Reals, step: float
) -> Iterator[tuple[Ints, Keys]]:
    """Return for each noise which of the answers are of its kinds, and the kinds."""
    noise, scales = answers.noise[queries], answers.scale[queries]
    ratio = sizes * (1 / scales)
    moved = (ratio > 0) & (ratio <= CERTAIN)
    for place, family in enumerate(answers.families):
        if family.form is not LossForm.TABULATED:
            yield np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.complex128)
            continue
        rows = np.flatnonzero(moved & (noise == place))
        scale, shift = scales[rows], sizes[rows]
        if not family.lattice:
            scale, shift = np.ones(rows.size), shift / scale
        yield rows, scale + 1j * _rounded_up(shift, step, whole=family.lattice)


def _rounded_up(shifts: Reals, step: float, *, whole: bool) -> Reals:
    """Round shifts up on a logarithmic scale; whole ones to the largest whole number of their step."""
    if not step:
        return shifts
    up = np.exp(step * np.ceil(np.log(np.maximum(shifts, np.finfo(float).tiny)) / step - 1e-9))
    return np.maximum(np.floor(up), shifts) if whole else np.asarray(up)
