import pytest

from leakgauge.papers.guan24 import PAPER
from leakgauge.papers.guan24.places import CDR
from leakgauge.papers.paper import Scale, Scope

PLAYED = [name for name, item in PAPER.items.items() if item.runs(name)]


def test_every_figure_and_table_is_there():
    figures = {f"figure_{n}" for n in range(4, 18)}
    assert set(PAPER.items) == figures | {f"table_{n}" for n in range(3, 12)}


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("name", PLAYED)
def test_plans_can_be_read_and_have_the_setting_of_the_paper(plans, name, scale):
    audits = plans(name, Scope(scale=scale))
    assert audits
    for audit in audits:
        away = audit.name.startswith(CDR.name)
        said = audit.challenger
        assert said["relation"] == "replace_one"
        assert (said["reference"], said["per_day"]) == ((5000, 20) if away else (2500, 10))
        assert said["targets"]["min_visits"] >= 10
        if scale is Scale.FULL:
            assert said["targets"]["n"] == 50
            assert audit.rounds >= 100


@pytest.mark.parametrize("name", PLAYED)
def test_on_the_data_of_the_paper_only_the_call_records_are_replaced(plans, name, milan):
    names = {audit.name.partition("@")[0] for audit in plans(name, Scope(scale=Scale.FULL, data=milan))}
    assert names <= {"milan", "cdr-city"}


def test_a_quick_look_learns_few_classifiers(plans):
    runs = {run.name: run for name in PLAYED for run in PAPER.items[name].runs(name)}
    assert len(runs) == 11
    audits = {}
    for name in PLAYED:
        for audit in plans(name, Scope(scale=Scale.QUICK)):
            for contender in audit.contenders:
                if contender.attack == "shadow_logistic":
                    kind, n = audit.mechanism["name"], audit.challenger["targets"]["n"]
                    audits[audit.name, contender.label, kind] = n
    noisy = sum(n for (*_, kind), n in audits.items() if kind != "raw")
    assert noisy <= 150  # about a second each
    assert sum(audits.values()) - noisy <= 400  # a fifth of a second each
