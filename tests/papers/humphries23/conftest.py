from types import SimpleNamespace

import pytest

from leakgauge.papers import data_sets
from leakgauge.papers.humphries23 import PAPER
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.plan import plan_of
from leakgauge.referee.estimate import Estimate

FILES = (
    *(data_sets.ADULT, data_sets.CENSUS, data_sets.COMPAS),
    *(data_sets.HEART, data_sets.STUDENT, data_sets.LOCATION_30),
)


@pytest.fixture
def files(tmp_path):
    """A folder with empty files that have the names of the data sets: enough to write a plan."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for names in FILES:
        (folder / names[0]).write_text("")
    return folder


@pytest.fixture
def audits():
    """All audits in the plan of an item, by name."""

    def read(name, scale=Scale.QUICK, data=None):
        plan = plan_of({"seed": 7, "audit": PAPER.item(name).audits(Scope(scale=scale, data=data))})
        return {audit.name: audit for audit in plan.audits}

    return read


@pytest.fixture
def show(audits, files):
    """Make an item of verdicts that a rule makes up: ``rule(audit, label)`` is the advantage."""

    def make(name, rule, *, reach=0.005, scale=Scale.QUICK, real=True, useful=None):
        data = files if real else None
        verdicts = [
            SimpleNamespace(
                audit=audit.name,
                label=contender.label,
                rounds=audit.rounds,
                metrics=_metrics(rule(audit.name, contender.label), reach),
                utility=useful or {"members": 0.92, "others": 0.85, "validation": 0.915},
            )
            for audit in audits(name, scale, data).values()
            for contender in audit.contenders
        ]
        shown = PAPER.item(name).show(
            PlayedItem(scope=Scope(scale=scale, data=data), verdicts=tuple(verdicts))
        )
        return {cell.setting: cell for cell in shown.cells}, shown

    return make


def _metrics(value, reach):
    names = ("advantage_own", "advantage_per_release", "advantage_in_sample")
    found = {
        name: Estimate(value=value, low=value - reach, high=value + reach, confidence=0.95, method="made up")
        for name in names
    }
    null = Estimate(value=0.0089, confidence=0.95, method="made up")
    return found | {"advantage_in_sample_null": null, "tpr": found["advantage_own"]}
