from types import SimpleNamespace

import pytest

from leakgauge.papers.liu24 import PAPER, exact_values
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.plan import plan_of
from leakgauge.referee.estimate import Estimate

METRICS = ("tpr", "tnr", "accuracy", "auc", "tpr_at_fpr_0.01")
# How far attacks stay behind the optimum of the informed, in a world where the paper is right.
BEHIND = {
    "laplace": {"likelihood": 0.0, "two_threshold": 0.005, "one_threshold": 0.05, "reference": 0.051},
    "gaussian": {"likelihood": 0.0, "two_threshold": 0.03, "one_threshold": 0.0, "reference": 0.001},
}


def behind(noise, contender):
    shadows = contender.attack_parameters.get("shadows")
    if contender.attack == "shadow_mlp":
        lost = max(0.005, 0.06 - 0.055 * shadows / 200_000) if noise == "laplace" else 0.001
    else:
        lost = BEHIND[noise][contender.attack]
    return lost + (0.04 if contender.knowledge == "auxiliary" else 0.0)


def made_up(audit, contender, wide, lost):
    """A verdict as it would be if the attack had reached what we say, give or take ``wide``."""
    noise = audit.mechanism["name"]
    n = contender.knowledge_parameters.get("observations", 60)
    best = float(exact_values.accuracy(noise, "likelihood", exact_values.np.array([float(n)]))[0])
    value = max(best - behind(noise, contender) * (best - 0.5) * 2 - lost(contender), 0.5)
    estimate = Estimate(
        value=value, low=value - wide, high=min(value + wide, 1.0), confidence=0.999, method="made up"
    )
    return SimpleNamespace(
        audit=audit.name,
        label=contender.label,
        attack=contender.attack,
        knowledge=contender.knowledge,
        parameters={"attack": contender.attack_parameters, "knowledge": contender.knowledge_parameters},
        rounds=audit.rounds,
        metrics=dict.fromkeys(METRICS, estimate),
        roc={"fpr": [0.0, 1 - value, 1.0], "tpr": [0.0, value, 1.0]},
    )


@pytest.fixture
def pretend():
    """Return what an item would show if its games had come out as we say."""

    def shown(name, wide=0.001, scale=Scale.QUICK, lost=lambda contender: 0.0):
        item, scope = PAPER.item(name), Scope(scale=scale)
        plans = {
            run.name: plan_of({"seed": run.seed_offset, "audit": audits})
            for run in item.runs(name)
            if (audits := run.audits(scope))
        }
        verdicts = [
            made_up(audit, who, wide, lost)
            for plan in plans.values()
            for audit in plan.audits
            for who in audit.contenders
        ]
        return item.show(PlayedItem(scope=scope, verdicts=tuple(verdicts), plans=plans))

    return shown
