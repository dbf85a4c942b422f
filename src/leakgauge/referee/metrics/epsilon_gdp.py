"""Lower confidence bound on epsilon under the declared assumption that the noise is Gaussian."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_fair_coins
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics.epsilon_local_levels import band_errors, error_bands
from leakgauge.referee.one_run_curve import best_share, count_right, largest_rejected_mu
from leakgauge.theory import gdp

_USUAL_SHARE = 0.1  # of the trials of shared rounds on which to guess, where nothing is claimed


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Fit the largest Gaussian trade-off that a sound band allows, and read epsilon off it.

    mu = Phi^-1(1 - FPR) - Phi^-1(FNR) (Dong, Roth and Su 2022; used for audits by Nasr et al. 2023). False
    for any noise that is not Gaussian: on Laplace noise it exceeds the truth nearly always. Hence the
    declaration. Where trials share rounds it is the largest Gaussian trade-off that the one-run test against
    a curve rejects (Mahloujifar et al. 2024); the ``claimed`` epsilon decides on which share to guess.
    """

    delta: float = 0.0
    confidence: float = 0.95
    assume: str | None = None
    claimed: float | None = None

    def __post_init__(self) -> None:
        if self.assume != "gaussian":
            raise BadInput(
                "metrics.epsilon = 'gdp' is sound for Gaussian noise only; add assume = \"gaussian\" to "
                "metrics if that is what the mechanism adds, or use epsilon = 'one_run'"
            )
        if not self.delta > 0:
            raise BadInput("metrics.epsilon = 'gdp' needs delta > 0: a Gaussian has no pure epsilon")

    def __call__(self, trials: Trials) -> Estimate:
        if trials.shared_rounds:
            need_fair_coins(trials, "gdp in shared rounds")
            n, share = len(trials), self._share(len(trials))
            return Estimate(
                value=None,
                low=self._one_run_epsilon(n, *count_right(trials, share)),
                confidence=self.confidence,
                method=f"one-run test of Gaussian trade-offs, guesses on {share:.3g} of the trials (a share "
                "fixed before the rounds), ASSUMING Gaussian noise as declared",
                reason="a test of trade-offs has no point estimate",
            )
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
        if shared_rounds:
            n = hits + misses + alarms + silences
            n_guesses = int(np.ceil(self._share(n) * n - 1e-9))
            return self._one_run_epsilon(n, n_guesses, n_guesses * (hits + silences) // max(n, 1))
        fpr, fnr = band_errors(hits, misses, alarms, silences, 1 - self.confidence)
        return self._epsilon(np.array([fpr]), np.array([fnr]))

    def _share(self, n_trials: int) -> float:
        """The share of the trials on which to guess, from the claim alone."""
        if self.claimed is None or not 0 < self.claimed < np.inf:
            return _USUAL_SHARE
        claim = gdp.curve(gdp.mu_for(self.claimed, self.delta))
        return best_share(claim, n_trials, 1 - self.confidence)

    def _one_run_epsilon(self, n_coins: int, n_guesses: int, n_right: int) -> float:
        if not n_guesses:
            return 0.0
        mu = largest_rejected_mu(n_coins, n_guesses, n_right, 1 - self.confidence)
        return gdp.epsilon_at(mu, self.delta) if mu > 0 else 0.0

    def _epsilon(self, fpr: Reals, fnr: Reals) -> float:
        inner = (fpr < 1) & (fnr < 1)
        if not inner.any():
            return 0.0
        # No absolute value: scores in the wrong direction are not evidence.
        mu = float((-ndtri(fpr[inner]) - ndtri(fnr[inner])).max())
        return gdp.epsilon_at(mu, self.delta) if mu > 0 else 0.0
