"""The owner of a model: it trains one in every round, adds noise to a mean, or shows one that is given."""

from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.models import trained
from leakgauge.domains.models.data import load
from leakgauge.domains.models.means import challenger as means
from leakgauge.domains.models.own import challenger as own
from leakgauge.domains.models.tables import MEANS, Rules, read_learner, read_setting


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Any:
    """Make the challenger that the tables of a plan describe."""
    if challenger.get("game") == Rules.GIVEN:
        return own.build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed)
    setting = read_setting(challenger)
    if mechanism.get("name") in MEANS:
        if trained_alone := sorted({"epochs", "batch", "hidden", "rate", "sampling"} & set(challenger)):
            raise BadInput(f"challenger.{trained_alone[0]}: a noisy mean trains no network; leave it out")
        return means.build(setting=setting, data=data, mechanism=mechanism, folder=folder, seed=seed)
    learner = read_learner(mechanism, setting.rate)
    if "member" in data:
        raise BadInput("data.member: who is a member is decided by the game; add challenger.game = 'given'")
    return trained.build(setting, load(data, folder, seed), learner, seed)
