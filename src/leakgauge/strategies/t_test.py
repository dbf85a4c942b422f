"""The one-sample t-test, over many samples at once and with answers missing."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.theory.t_tests import Form


@dataclass(frozen=True, kw_only=True)
class TTest:
    """Whether samples along the last axis have mean zero (Student 1908); NaN marks what is missing.

    In "textbook" form S has 1/(m - 1); in the "paper" form of Huang et al. it has 1/m, with sqrt(m) and m - 1
    degrees of freedom all the same, so that normal samples are rejected too often. With one side, only means
    above zero count against it.
    """

    form: Form = "textbook"
    sides: int = 2

    def __post_init__(self) -> None:
        if self.form not in ("textbook", "paper"):
            raise BadInput(f"form must be textbook or paper, got {self.form!r}")
        if self.sides not in (1, 2):
            raise BadInput(f"sides must be 1 or 2, got {self.sides}")

    def statistics(self, samples: Reals) -> tuple[Reals, Reals]:
        """T of each sample, and its degrees of freedom; NaN and less than one where fewer than two are left.

        Where all are equal T is infinite, or zero if they are zero.
        """
        there = ~np.isnan(samples)
        n = there.sum(axis=-1)
        filled = np.where(there, samples, 0.0)
        means = filled.sum(axis=-1) / np.maximum(n, 1)
        squares = (np.where(there, samples - means[..., None], 0.0) ** 2).sum(axis=-1)
        divisor = n if self.form == "paper" else n - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            t = means * np.sqrt(n) / np.sqrt(squares / divisor)
        t = np.where((squares == 0) & (means == 0), 0.0, t)
        return np.where(n < 2, np.nan, t), (n - 1).astype(np.float64)

    def p_values(self, samples: Reals) -> Reals:
        """How rare so large a T is if the mean is zero; NaN where fewer than two samples are left.

        >>> TTest().p_values(np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]])).round(4).tolist()
        [0.0742, 1.0]
        """
        t, freedom = self.statistics(samples)
        above = stdtr(np.maximum(freedom, 1.0), -np.abs(t) if self.sides == 2 else -t)
        return np.asarray(self.sides * above)
