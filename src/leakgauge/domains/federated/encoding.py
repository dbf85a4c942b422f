"""How much of the data the noise on rows cannot hold."""

from typing import Protocol, runtime_checkable

from leakgauge.core.game import Mechanism, Reals
from leakgauge.domains.federated.model import Floats


@runtime_checkable
class Ranged(Protocol):
    """Noise with a range, beyond which values are cut."""

    def require_range(self, values: Reals) -> float:
        """The share of values beyond the range; too many of them are refused."""
        ...


def saturation(rows: Floats, mechanism: Mechanism | None) -> tuple[str, ...]:
    """A note on values beyond the range of the noise; more than 1 % of them are refused."""
    if not isinstance(mechanism, Ranged):
        return ()
    share = mechanism.require_range(rows.astype(float))
    return (
        (f"{share:.2%} of the values are beyond the range of the noise, and are cut to it",) if share else ()
    )
