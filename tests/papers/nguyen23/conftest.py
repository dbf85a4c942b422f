from types import SimpleNamespace

import pytest

from leakgauge.papers import data_sets
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.nguyen23 import PAPER
from leakgauge.papers.nguyen23 import data as nguyen23_data
from leakgauge.papers.nguyen23.data import FeatureForm
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.plan import plan_of
from leakgauge.referee.estimate import Estimate

SMALL = {"source": "synthetic", "rows": 260, "features": 24, "classes": 4}


@pytest.fixture
def small_rows(monkeypatch):
    """Generated rows that take no time."""
    for form, more in ((FeatureForm.SIGNED, {}), (FeatureForm.NON_NEGATIVE, {"non_negative": True})):
        small = DataSet(name="small", description=f"small rows, {form}", table=SMALL | more)
        monkeypatch.setitem(nguyen23_data.GENERATED, form, small)


@pytest.fixture
def plans():
    """The plans of an item, by run."""

    def written(name, scale=Scale.QUICK, data=None):
        scope = Scope(scale=scale, data=data)
        return {
            run.name: plan_of({"seed": 7, "audit": found})
            for run in PAPER.item(name).runs(name)
            if (found := run.audits(scope))
        }

    return written


@pytest.fixture
def audits(plans):
    """All audits in the plans of an item."""

    def read(name, scale=Scale.QUICK, data=None):
        return [audit for plan in plans(name, scale, data).values() for audit in plan.audits]

    return read


@pytest.fixture
def show(audits, plans):
    """Make an item of verdicts that a rule makes up: ``rates(audit, label)`` are TPR and TNR."""

    def make(name, rates=lambda audit, label: (0.95, 0.95), reach=0.01, studied=None):
        verdicts = []
        for audit in audits(name):
            for contender in audit.contenders:
                metrics = {
                    metric: Estimate(
                        value=rate,
                        low=max(rate - reach, 0.0),
                        high=min(rate + reach, 1.0),
                        confidence=0.95,
                        method="made up",
                    )
                    for metric, rate in zip(("tpr", "tnr"), rates(audit, contender.label), strict=True)
                }
                verdicts.append(
                    SimpleNamespace(
                        audit=audit.name,
                        label=contender.label,
                        rounds=audit.rounds,
                        metrics=metrics,
                        promised={"exact_epsilon": 1234.5},
                        studied=studied(audit, contender.label) if studied else None,
                    )
                )
        played = PlayedItem(scope=Scope(scale=Scale.QUICK), verdicts=tuple(verdicts), plans=plans(name))
        shown = PAPER.item(name).show(played)
        return {cell.setting: cell for cell in shown.cells}, shown

    return make


@pytest.fixture
def files(tmp_path):
    """A folder with empty files that have the names of the data sets."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for name in (data_sets.FACES, data_sets.CIFAR_10):
        (folder / name[0]).write_text("")
    (folder / "imagenette_subset_jpeg.parquet").write_text("")
    return folder
