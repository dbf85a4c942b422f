from types import SimpleNamespace

import pytest

from leakgauge.papers.guan24 import PAPER
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.plan import plan_of
from leakgauge.referee.estimate import Estimate


def _estimate(value, reach):
    return Estimate(
        value=value,
        low=max(value - reach, 0.0),
        high=min(value + reach, 1.0),
        confidence=0.95,
        method="made up",
    )


def _verdict(audit, contender, value, reach):
    return SimpleNamespace(
        audit=audit.name,
        label=contender.label,
        attack=contender.attack,
        knowledge=contender.knowledge,
        rounds=audit.rounds,
        n_targets=audit.challenger["targets"]["n"],
        seed=7,
        parameters={"data": audit.data, "challenger": audit.challenger, "mechanism": audit.mechanism},
        metrics={name: _estimate(value, reach) for name in ("auc_mean", "tpr", "tnr")},
    )


@pytest.fixture
def plans():
    """All audits in the plans of an item."""

    def read(name, scope):
        return [
            audit
            for run in PAPER.item(name).runs(name)
            for audit in plan_of({"seed": 7, "audit": run.audits(scope)}).audits
        ]

    return read


@pytest.fixture
def show(plans):
    """Make an item of verdicts that a rule makes up: ``chance(audit, label)`` is the AUC."""

    def make(name, chance, *, scale=Scale.QUICK, data=None, reach=0.01):
        scope = Scope(scale=scale, data=data)
        verdicts = [
            _verdict(audit, contender, chance(audit, contender.label), reach)
            for audit in plans(name, scope)
            for contender in audit.contenders
        ]
        return PAPER.item(name).show(PlayedItem(scope=scope, verdicts=tuple(verdicts)))

    return make


@pytest.fixture
def milan(tmp_path):
    """A folder of data sets in which there is the file of Milan; nothing but its name is looked at."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "social-pulse-milano.geojson").write_text("{}")
    return folder
