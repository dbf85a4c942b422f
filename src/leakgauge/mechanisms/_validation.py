"""Checks of the parameters that a plan gives a mechanism, and of the range of its values."""

import numpy as np

from leakgauge.core.errors import BadInput

LARGEST_EPSILON = 1e6  # beyond it no exponential can be computed


def require_positive(mechanism: str, **numbers: float | None) -> None:
    """Refuse a given value that is not a finite number above zero."""
    for name, number in numbers.items():
        if number is not None and not 0 < number < np.inf:
            raise BadInput(f"{mechanism}: {name} must be > 0 and finite, got {number}")
        if number is not None and name == "epsilon" and number > LARGEST_EPSILON:
            raise BadInput(
                f"{mechanism}: epsilon must be at most {LARGEST_EPSILON:g}, got {number:g}, which protects "
                "nobody; 1 is usual"
            )


def require_whole(mechanism: str, name: str, number: float, least: int) -> None:
    """Refuse a value that is not a whole number, or is too small."""
    if not (least <= number < np.inf and number == int(number)):
        raise BadInput(f"{mechanism}: {name} must be a whole number >= {least}, got {number}")


def scale_from(mechanism: str, epsilon: float | None, scale: float | None, per_epsilon: float) -> float:
    """The given noise scale, or the one that an epsilon requires."""
    require_positive(mechanism, epsilon=epsilon, scale=scale)
    if scale is not None:
        return scale
    if epsilon is None:
        raise BadInput(f"{mechanism}: neither epsilon nor scale is given; add epsilon = ... or scale = ...")
    return per_epsilon / epsilon


MOST_CLIPPED = 0.01  # share of values that may be cut off without ``saturate``


def require_few_clipped(
    mechanism: str, share: float, largest: float, way_out: str, *, saturate: bool
) -> float:
    """Return the share of values that will be cut off, or refuse it."""
    if share <= MOST_CLIPPED or saturate:
        return share
    raise BadInput(
        f"{mechanism}: {share:.1%} of the values lie beyond +-{largest:g} and would be cut off, where at "
        f"most {MOST_CLIPPED:.0%} may; {way_out}, or set saturate = true"
    )
