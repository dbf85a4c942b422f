"""The audit of a DP training that is given as a Python function."""

from collections.abc import Callable
from typing import Any

from leakgauge.core.domain import FunctionAudit
from leakgauge.domains.models.attacks import canary_loss, gradient_canary
from leakgauge.domains.models.dp_training.challenger import build_for_function
from leakgauge.domains.models.dp_training.plan_tables import read_dp_training_table


def prepare_training_audit(train: Callable[..., Any], table: dict[str, Any]) -> FunctionAudit:
    """Set up the attack that fits the canaries of the table."""
    options, claim = read_dp_training_table(table)
    challenger = build_for_function(train, options, claim, getattr(train, "__qualname__", ""))
    black_box = options.canaries is not None
    knowledge = "black_box" if black_box else "strong"
    return FunctionAudit(
        challenger=challenger,
        attack_name="canary_loss" if black_box else "gradient_canary",
        attack=canary_loss.Attack() if black_box else gradient_canary.Attack(),
        attack_parameters={},
        knowledge_name=knowledge,
        knowledge=challenger.knowledge(knowledge),
    )
