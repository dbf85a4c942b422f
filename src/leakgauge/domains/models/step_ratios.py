"""What the noisy sum of a training step says about who is in: its exact likelihood ratio."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.models.played import SeenStep
from leakgauge.domains.models.training.clipped import clipped_sum
from leakgauge.domains.models.training.learning import Examples, Noise


@dataclass(frozen=True, eq=False, kw_only=True)
class StepRatio:
    """Log-likelihood ratio of a step: with the target, against with its substitute, or with nobody.

    Without the others' gradients the noisy sum is r = B g + noise, where g is the clipped gradient of whoever
    is in and B whether a row is in this batch, with chance ``share``. Against noise alone its log ratio is
    log(1 - share + share exp((<r, g> - |g|^2 / 2) / s^2)), s the standard deviation of the noise (Abadi et
    al. 2016, section 3.2; Nasr et al. 2021 play this game). Where batches have a fixed size, the number of
    others in them tells B.
    """

    others: Examples
    target: Examples
    substitute: Examples | None
    noise: Noise
    share: float

    def __call__(self, step: SeenStep) -> float:
        share = self.share if step.in_batch is None else float(step.in_batch)
        if share == 0:
            return 0.0
        rest = self._without_others(step)
        ratio = weighed(self._evidence(rest, step, self.target), share)
        if self.substitute is None:
            return ratio
        return ratio - weighed(self._evidence(rest, step, self.substitute), share)

    def _without_others(self, step: SeenStep) -> Reals:
        rows, labels = self.others.rows[step.others], self.others.labels[step.others]
        known = clipped_sum(step.network, rows, labels, self.noise.clip)
        return step.released.astype(np.float64) - known

    def _evidence(self, rest: Reals, step: SeenStep, one: Examples) -> float:
        """Log ratio of the rest of a sum with this record in the batch, against noise alone."""
        gradient = clipped_sum(step.network, one.rows, one.labels, self.noise.clip).astype(np.float64)
        scale = self.noise.sigma * self.noise.clip
        return float((rest @ gradient - gradient @ gradient / 2) / scale**2)


def weighed(evidence: float, share: float) -> float:
    """Log of 1 - share + share e^evidence, without overflow.

    >>> round(weighed(float(np.log(3)), 0.5), 12) == round(float(np.log(2)), 12)
    True
    """
    if share == 1:
        return evidence
    return float(np.logaddexp(np.log1p(-share), np.log(share) + evidence))
