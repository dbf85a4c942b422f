"""RAPPOR's two stages: bits that are flipped once and kept, and noise anew in every report of them."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import TradeoffCurve
from leakgauge.mechanisms._local_reports import CategoryReports, LossCells
from leakgauge.theory import tradeoff
from leakgauge.theory.asymmetric_composition import DistributionPair

MOST_EXACT_REPORTS = 300  # of more, a curve that is never below the exact one is computed


@dataclass(frozen=True, kw_only=True)
class Mechanism(CategoryReports):
    """Report a bit for each category, by permanent and instantaneous randomized response.

    The permanent response keeps each bit with odds of e^(``epsilon`` / 2) and is drawn once (Erlingsson et
    al. 2014, with one hash function that separates all categories; their f is 2 / (e^(epsilon / 2) + 1)). A
    report has a 1 with probability ``q`` where the permanent bit is 1, and ``p`` where it is 0, drawn anew
    each time. ``reports`` of a value reveal more than one of them, and never more than ``epsilon``.

    >>> one, many = (Mechanism(epsilon=2.0, categories=4, reports=n).guarantee.epsilon for n in (1, 1_000))
    >>> round(one, 3), round(many, 6)
    (0.496, 2.0)
    """

    p: float = 0.5
    q: float = 0.75

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.p < self.q <= 1:
            raise BadInput(f"rappor: p and q must be probabilities with p < q, got {self.p} and {self.q}")
        if self.memoised:
            raise BadInput(
                "rappor: memoised cannot be set: the permanent response is kept anyway, and the noise of a "
                "report is not; leave it out"
            )

    @property
    def kept(self) -> float:
        """How often the permanent response keeps a bit: 1 - f / 2."""
        return float(scipy.special.expit(self.epsilon / 2))

    @property
    def composed(self) -> int:
        """All reports are one output: they share the permanent response."""
        return 1

    @property
    def exact_epsilon(self) -> float:
        """The largest privacy loss of all reports together: one bit always 1, the other always 0."""
        low, high = self._log_chances(np.array([0.0, self.reports]))
        return float(high[1] - low[1] + low[0] - high[0])

    @property
    def support_true(self) -> float:
        return self.kept * self.q + (1 - self.kept) * self.p

    @property
    def support_other(self) -> float:
        return (1 - self.kept) * self.q + self.kept * self.p

    def supported(self, outputs: Reals) -> Reals:
        return outputs

    def sample(self, values: Reals, rng: Generator) -> Reals:
        self.require_categories(values)
        true = values[..., None] == np.arange(self.categories)
        permanent = np.where(rng.random(true.shape) < self.kept, true, ~true)
        if self.reports > 1:
            permanent = np.repeat(permanent[..., None, :], self.reports, axis=-2)
        return (rng.random(permanent.shape) < np.where(permanent, self.q, self.p)).astype(np.float64)

    def report(self, values: Reals, rng: Generator) -> Reals:
        return self.sample(values, rng)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of all reports of each value."""
        self.require_categories(values)
        shape = (self.reports, self.categories) if self.reports > 1 else (self.categories,)
        if outputs.shape[-len(shape) :] != shape:
            raise BadInput(f"rappor: an output has the shape {shape}, got an array of shape {outputs.shape}")
        bits = outputs if self.reports > 1 else outputs[..., None, :]
        clear, set_ = self._log_chances((bits == 1).sum(axis=-2).astype(np.float64))
        law = np.where(values[..., None] == np.arange(self.categories), set_, clear).sum(axis=-1)
        return np.where(((bits == 0) | (bits == 1)).all(axis=(-1, -2)), law, -np.inf)

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        return self.log_law(outputs, values)

    def worst_cells(self) -> LossCells:
        ones = np.arange(self.reports + 1)
        binom = scipy.stats.binom
        set_, clear = binom.pmf(ones, self.reports, self.q), binom.pmf(ones, self.reports, self.p)
        kept, flipped = self.kept, float(scipy.special.expit(-self.epsilon / 2))
        true, other = kept * set_ + flipped * clear, flipped * set_ + kept * clear
        return [(DistributionPair.of(true, other), 1), (DistributionPair.of(other, true), 1)]

    def _curve(self, cells: LossCells) -> TradeoffCurve:
        """The exact curve if one value is changed: its two bits, each by how many of its reports are 1."""
        pairs = [cell for cell, n in cells if n == 1 and isinstance(cell, DistributionPair)]
        if len(pairs) != len(cells) or self.reports > MOST_EXACT_REPORTS:
            return super()._curve(cells)
        members, others = (
            np.outer(*(getattr(pair, world) for pair in pairs)).ravel() for world in ("members", "others")
        )
        return tradeoff.exact_curve(others, members)

    def _log_chances(self, ones: Reals) -> tuple[Reals, Reals]:
        """Log probability of the reports of one bit, by how many are 1: if it is truly 0, and truly 1."""
        zeros = self.reports - ones
        clear, set_ = (
            scipy.special.xlogy(ones, chance) + scipy.special.xlog1py(zeros, -chance)
            for chance in (self.p, self.q)
        )
        kept, flipped = np.log(self.kept), -np.logaddexp(0.0, self.epsilon / 2)
        return np.logaddexp(kept + clear, flipped + set_), np.logaddexp(kept + set_, flipped + clear)
