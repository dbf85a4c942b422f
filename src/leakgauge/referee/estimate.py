"""A value with its uncertainty."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value with its confidence interval.

    Attributes:
        value: The estimate; None if these trials do not allow one.
        low: The lower end of the interval; None if there is none.
        high: The upper end; None for a one-sided interval, such as that of epsilon.
        confidence: The confidence level of the interval.
        method: How the interval was computed.
        reason: Why something is missing.
        high_any_split: An upper bound, as sure as one end of the interval, that assumes nothing of how random
            splits of the people vary; None where rounds do not take turns with several.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float
    method: str
    reason: str | None = None
    high_any_split: float | None = None
