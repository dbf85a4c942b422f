"""A promise that a plan states in numbers, beside what the noise distribution gives."""

from dataclasses import dataclass, replace

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.theory import tradeoff


@dataclass(frozen=True, kw_only=True)
class StatedPromise:
    """The epsilon and delta that the owner claims, whatever the noise."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < np.inf:
            raise BadInput(f"epsilon must be >= 0 and finite, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise BadInput(f"delta must be in [0, 1), got {self.delta}")

    def beside(self, known: Guarantee) -> Guarantee:
        """Return the claim, with the exact epsilon of the noise at its delta where that is known.

        >>> StatedPromise(epsilon=0.5).beside(Guarantee(epsilon=1.0, exact_epsilon=1.0)).exact_epsilon
        1.0
        """
        if known.delta > 0 and self.delta == 0:
            raise BadInput(
                f"promise: epsilon = {self.epsilon:g} is stated without delta, and this noise (Gaussian, for "
                f"instance) keeps no epsilon without one; add delta = {known.delta:g}"
            )
        exact = known.exact_epsilon
        if self.delta != known.delta:
            exact = None if known.curve is None else tradeoff.epsilon_at(known.curve, self.delta)
        return replace(
            known,
            epsilon=self.epsilon,
            delta=self.delta,
            nominal_epsilon=None,
            nominal_exact=None,
            exact_epsilon=exact,
            curve=None,
        )
