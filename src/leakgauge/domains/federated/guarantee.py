"""The guarantee of a federated client for each of its rows."""

from dataclasses import replace

from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.federated.plan_tables import FederatedChallengerTable


def client_guarantee(table: FederatedChallengerTable, noise: Mechanism | None) -> Guarantee | None:
    """Return the guarantee of the noise on gradients, else of the noise on rows; None without noise."""
    if table.gradient_noise is not None:
        return table.gradient_noise.guarantee(table.iterations)
    if noise is None:
        return None
    stated = noise.guarantee
    if table.promise == "exact" and stated.exact_epsilon is not None:
        return replace(stated, epsilon=stated.exact_epsilon)
    return stated
