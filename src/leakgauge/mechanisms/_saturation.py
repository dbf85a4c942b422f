"""Values beyond the range that a mechanism can tell apart."""

from leakgauge.core.errors import BadInput

MOST = 0.01  # share of values that may be cut off unasked


def accepted(mechanism: str, share: float, largest: float, way_out: str, *, saturate: bool) -> float:
    """Return the share of values that will be cut off, or refuse it."""
    if share <= MOST or saturate:
        return share
    raise BadInput(
        f"{mechanism}: {share:.1%} of the values lie beyond +-{largest:g} and would be cut off, where at "
        f"most {MOST:.0%} may; {way_out}, or set saturate = true"
    )
