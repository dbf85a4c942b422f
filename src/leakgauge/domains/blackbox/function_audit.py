"""The audit of a Python function: a challenger, and an attack that fits any kind of output."""

from typing import Any

from leakgauge.core.domain import FunctionAudit
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.blackbox import knowledge
from leakgauge.domains.blackbox.attacks.learned_event import Attack
from leakgauge.domains.blackbox.challenger import Challenger, require_difference
from leakgauge.domains.blackbox.release import ReleaseFunction

FEWEST_SHADOWS = 100


def prepare_function_audit(
    release: ReleaseFunction, pair: tuple[Any, Any], guarantee: Guarantee | None, rounds: int, seed: int
) -> FunctionAudit:
    """Set up an attack that learns from as many simulated releases as there are rounds to count."""
    challenger = Challenger(release, pair, guarantee)
    require_difference(challenger.pair)
    attack = Attack(shadows=max(rounds, FEWEST_SHADOWS))
    return FunctionAudit(
        challenger=challenger,
        attack_name="learned_event",
        attack=attack,
        attack_parameters={"shadows": attack.shadows},
        knowledge_name="simulator",
        knowledge=knowledge.build("simulator", {}, challenger, seed),
    )
