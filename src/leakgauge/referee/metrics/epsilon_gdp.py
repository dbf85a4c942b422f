"""Lower confidence bound on epsilon under the declared assumption that the noise is Gaussian."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals, Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics.epsilon_local_levels import band_errors, error_bands
from leakgauge.theory import gdp


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Fit the largest Gaussian trade-off that a sound band allows, and read epsilon off it.

    mu = Phi^-1(1 - FPR) - Phi^-1(FNR) (Dong, Roth and Su 2022; used for audits by Nasr et al. 2023). False
    for any noise that is not Gaussian: on Laplace noise it exceeds the truth nearly always. Hence the
    declaration.
    """

    delta: float = 0.0
    confidence: float = 0.95
    assume: str | None = None

    def __post_init__(self) -> None:
        if self.assume != "gaussian":
            raise BadInput(
                "metrics.epsilon = 'gdp' is sound for Gaussian noise only; add assume = \"gaussian\" to "
                "metrics if that is what the mechanism adds, or use epsilon = 'one_run'"
            )
        if not self.delta > 0:
            raise BadInput("metrics.epsilon = 'gdp' needs delta > 0: a Gaussian has no pure epsilon")

    def __call__(self, trials: Trials) -> Estimate:
        fpr, fnr = error_bands(trials, "gdp", 1 - self.confidence)
        return Estimate(
            value=None,
            low=self._epsilon(fpr, fnr),
            confidence=self.confidence,
            method="Gaussian trade-off under an equal-local-level band, ASSUMING Gaussian noise as declared",
            reason="a band has no point estimate",
        )

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        fpr, fnr = band_errors(hits, misses, alarms, silences, 1 - self.confidence)
        return self._epsilon(np.array([fpr]), np.array([fnr]))

    def _epsilon(self, fpr: Reals, fnr: Reals) -> float:
        inner = (fpr < 1) & (fnr < 1)
        if not inner.any():
            return 0.0
        # No absolute value: scores in the wrong direction are not evidence.
        mu = float((-ndtri(fpr[inner]) - ndtri(fnr[inner])).max())
        return gdp.epsilon_at(mu, self.delta) if mu > 0 else 0.0
