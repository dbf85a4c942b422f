"""A value with its uncertainty."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What the referee says: a value, its interval, how sure, and how it was found.

    ``None`` stands for what cannot be said from these trials; then ``reason`` says why. A one-sided
    estimate (epsilon) has no ``high``.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float
    method: str
    reason: str | None = None
