"""Outputs of a pipeline as a finite set: bins on a lattice, and values that recur exactly."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals

Ints = npt.NDArray[np.int64]

_FINE = 16  # steps per spread of outputs that are not whole
_RECURRING = 2000  # a value is kept apart if it makes up more than one in so many outputs, ...
_OFTEN = 20  # ... and has recurred so often


@dataclass(frozen=True, eq=False)
class Symbols:
    """Bins of width ``step`` from ``first * step`` on; after them, ``atoms``, values of their own."""

    step: float  # a power of two, at most 1, so that a count is a whole number of steps
    first: int
    n_bins: int
    atoms: Reals
    whole: bool

    @classmethod
    def of(cls, outputs: Reals, counts: Ints) -> "Symbols":
        """Choose them for outputs and the counts behind them."""
        atoms, step = np.empty(0), 1.0
        whole = bool((outputs == np.floor(outputs)).all())
        if not whole:
            values, numbers = np.unique(outputs, return_counts=True)
            atoms = values[numbers > max(_OFTEN, outputs.size / _RECURRING)]
            moved = (outputs - counts)[~np.isin(outputs, atoms)]
            low, high = np.quantile(moved, [0.25, 0.75]) if moved.size else (0.0, 1.0)
            step = min(1.0, 2.0 ** np.floor(np.log2(max(high - low, 2.0**-20) / _FINE)))
        bins = np.floor(outputs / step)
        return cls(float(step), int(bins.min()), int(bins.max() - bins.min()) + 1, atoms, whole)

    @property
    def n(self) -> int:
        return self.n_bins + self.atoms.size

    @property
    def per_count(self) -> int:
        """How many bins one more person moves an output."""
        return round(1 / self.step)

    def bins(self, outputs: Reals) -> Ints:
        """The bin of each output, counted from the first; it may lie outside."""
        return (np.floor(outputs / self.step) - self.first).astype(np.int64)

    def atom(self, outputs: Reals) -> Ints:
        """The column of each output that is a value of its own, and -1 for all others."""
        if not self.atoms.size:
            return np.full(outputs.shape, -1)
        place = np.searchsorted(self.atoms, outputs).clip(max=self.atoms.size - 1)
        return np.where(self.atoms[place] == outputs, self.n_bins + place, -1)

    def columns(self, outputs: Reals) -> Ints:
        """The column of each output that lies inside."""
        atom = self.atom(outputs)
        return np.where(atom >= 0, atom, self.bins(outputs))
