"""What a federated client promises to the person behind a row."""

from dataclasses import replace

from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.federated.plan_tables import (
    FederatedChallengerTable,
)


def client_guarantee(setting: FederatedChallengerTable, noise: Mechanism | None) -> Guarantee | None:
    """What a row is promised: by noise on gradients, else by noise on rows; nothing without noise."""
    if setting.gradient_noise is not None:
        return setting.gradient_noise.guarantee(setting.iterations)
    if noise is None:
        return None
    stated = noise.guarantee
    if setting.promise == "exact" and stated.exact_epsilon is not None:
        return replace(stated, epsilon=stated.exact_epsilon)
    return stated
