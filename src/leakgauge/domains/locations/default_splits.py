"""How many splits of the people an audit has where its plan names no number: it depends on its attacks."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations.plan_tables import DEFAULT_SPLITS
from leakgauge.domains.locations.scorers.per_target_scorer import LongStudy
from leakgauge.support.user_attack import is_user_attack


class PlannedAttacker(Protocol):
    """An attacker as a plan names it."""

    @property
    def attack(self) -> str: ...
    @property
    def knowledge(self) -> str: ...
    @property
    def knowledge_parameters(self) -> dict[str, Any]: ...


def complete_challenger(challenger: dict[str, Any], attackers: Sequence[PlannedAttacker]) -> dict[str, Any]:
    """Add ``splits`` to the `challenger` table of an audit that has none.

    All attackers of an audit face the same releases, so there is one number for the audit: 1 if any of them
    would study each split for long, holds many earlier releases (which are large, and those of one pool), or
    knows friends by name, who are not in every reference.
    """
    if "splits" in challenger or challenger.get("group_size") == "everyone":
        return challenger
    one = any(_needs_one_split(attacker) for attacker in attackers)
    return {**challenger, "splits": 1 if one else DEFAULT_SPLITS}


def _needs_one_split(attacker: PlannedAttacker) -> bool:
    if attacker.knowledge == "past" or not isinstance(attacker.knowledge_parameters.get("friends", 0), int):
        return True
    if is_user_attack(attacker.attack):
        return False
    return issubclass(import_module(f"{DOMAIN.attacks_package}.{attacker.attack}").Attack, LongStudy)
