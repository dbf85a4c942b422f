from types import SimpleNamespace

import pytest

from leakgauge.papers import data_sets
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.nguyen23 import PAPER
from leakgauge.papers.nguyen23 import data as nguyen23_data
from leakgauge.papers.nguyen23.data import FeatureForm
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.plan import read_plan
from leakgauge.referee.estimate import Estimate

SMALL = '{{ source = "synthetic", rows = 260, features = 24, classes = 4{} }}'


@pytest.fixture
def small_rows(monkeypatch):
    """Generated rows that take no time."""
    for form, more in ((FeatureForm.SIGNED, ""), (FeatureForm.NON_NEGATIVE, ", non_negative = true")):
        small = DataSet(name="small", words=f"small rows, {form}", table=SMALL.format(more))
        monkeypatch.setitem(nguyen23_data.GENERATED, form, small)


@pytest.fixture
def plans(tmp_path):
    """The plans of an item, by run."""

    def written(name, scale=Scale.QUICK, data=None):
        scope = Scope(scale=scale, data=data)
        return {
            run.name: f"seed = 7\n{text}" for run in PAPER.items[name].runs(name) if (text := run.plan(scope))
        }

    return written


@pytest.fixture
def audits(plans, tmp_path):
    """All audits of an item, as its plans say."""

    def read(name, scale=Scale.QUICK, data=None):
        found = []
        for run, text in plans(name, scale, data).items():
            path = tmp_path / f"{run}-{scale}.toml"
            path.write_text(text)
            found += read_plan(path).audits
        return found

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
        shown = PAPER.items[name].show(played)
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
