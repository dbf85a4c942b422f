from types import SimpleNamespace

import pytest

from leakgauge.papers.huang import PAPER
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.plan import plan_of
from leakgauge.referee.estimate import Estimate


@pytest.fixture
def audits():
    """All audits in the plan of an item."""

    def read(name, scale=Scale.QUICK):
        return plan_of({"seed": 7, "audit": PAPER.item(name).audits(Scope(scale=scale))}).audits

    return read


@pytest.fixture
def show(audits):
    """Make an item of verdicts that a rule makes up: ``rates(audit, label)`` are TPR and TNR."""

    def make(name, rates, reach=0.001, spent=lambda audit: None):
        verdicts = []
        for audit in audits(name):
            for contender in audit.contenders:
                found = zip(("tpr", "tnr"), rates(audit, contender.label), strict=True)
                metrics = {
                    metric: Estimate(
                        value=rate,
                        low=rate - reach,
                        high=min(rate + reach, 1.0),
                        confidence=0.999,
                        method="made up",
                    )
                    for metric, rate in found
                }
                verdicts.append(
                    SimpleNamespace(
                        audit=audit.name,
                        label=contender.label,
                        rounds=audit.rounds,
                        metrics=metrics,
                        spent=spent(audit),
                    )
                )
        shown = PAPER.item(name).show(PlayedItem(scope=Scope(scale=Scale.QUICK), verdicts=tuple(verdicts)))
        return {cell.setting: cell for cell in shown.cells}, shown

    return make
