import csv
import json
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import leakgauge
from leakgauge import api, exposure
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure, PersonalGuarantees
from leakgauge.exposure import AuditExposure
from leakgauge.plan import read_plan
from leakgauge.report.sections.exposure import personal_promise
from leakgauge.runner.run_verdicts import read_exposure_summary
from leakgauge.support.progress import progress_bar

PLAN = """
seed = 5
[[audit]]
name = "city"
domain = "locations"
rounds = 20
data = { source = "synthetic", users = 200, sites = 9, epochs = 24, visits = 6 }
mechanism = { name = "laplace", epsilon = 1.0, round = true, clamp = true, suppress = 1 }
challenger = { splits = 1, group_size = 60 }
"""
BLACKBOX = """
seed = 5
[[audit]]
name = "box"
domain = "blackbox"
challenger = { pair = [0, 1] }
mechanism = { name = "laplace", epsilon = 1.0 }
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def made_up(names: list[str], auc: list[float]) -> AuditExposure:
    values = np.array(auc)
    one = AdversaryExposure(
        adversary="informed", basis="the best", accuracy=values, auc=values, tpr=values / 2, error=1e-4
    )
    return AuditExposure(
        "city", "locations", Exposure(names=np.array(names), cells=np.arange(len(names)), against=(one,))
    )


def test_csv_lists_everyone_most_exposed_first(tmp_path):
    exposure.save_exposure([made_up(['a "b"', "c,d", "e\nf"], [0.6, 0.9, 0.5])], tmp_path)
    with (tmp_path / "exposure.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["person"] for row in rows] == ["c,d", 'a "b"', "e\nf"]
    assert rows[0] == {
        "audit": "city",
        "person": "c,d",
        "cells": "1",
        "epsilon_nominal": "",
        "delta": "",
        "epsilon_kairouz": "",
        "epsilon_tight": "",
        "informed_accuracy": "0.90000",
        "informed_auc": "0.90000",
        "informed_tpr_at_fpr_0.01": "0.45000",
    }


def test_csv_is_private_and_only_file_with_names(tmp_path):
    summary = exposure.save_exposure([made_up(["Ada Lovelace", "Alan Turing"], [0.6, 0.9])], tmp_path)
    assert (tmp_path / "exposure.csv").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"exposure.csv", "exposure.json"}
    for text in (json.dumps(summary), (tmp_path / "exposure.json").read_text()):
        assert "Ada" not in text
        assert "Turing" not in text
    assert read_exposure_summary(tmp_path) == summary


def test_summary_has_quantiles_and_histogram():
    auc = np.linspace(0.5, 1.0, 101)
    (audit,) = exposure.summarise([made_up([str(i) for i in range(101)], auc.tolist())])["audits"]
    (one,) = audit["attackers"]
    assert audit["people"] == 101
    assert one["metrics"]["auc"]["quantiles"]["0.5"] == pytest.approx(0.75)
    assert one["metrics"]["auc"]["quantiles"]["1.0"] == 1.0
    assert sum(one["histogram"]["people"]) == 101
    assert one["error"] == 1e-4


def test_missing_attackers_leave_gaps(tmp_path):
    other = made_up(["x"], [0.7])
    renamed = AdversaryExposure(**{**vars(other.exposure.against[0]), "adversary": "log"})
    second = AuditExposure(
        "log",
        "queries",
        Exposure(names=np.array(["x"]), cells=np.ones(1, dtype=np.int64), against=(renamed,)),
    )
    exposure.save_exposure([other, second], tmp_path)
    with (tmp_path / "exposure.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["informed_auc"], rows[0]["log_auc"]) == ("0.70000", "")
    assert (rows[1]["informed_auc"], rows[1]["log_auc"]) == ("", "0.70000")


def test_rejects_plan_without_people(tmp_path):
    (tmp_path / "box.toml").write_text(BLACKBOX)
    with pytest.raises(BadInput, match=r"'blackbox'.*'locations'"):
        exposure.expose_plan(read_plan(tmp_path / "box.toml"))


def test_expose_returns_everyone_and_writes_only_with_out(plan, tmp_path):
    (found,) = leakgauge.expose(plan)
    assert found.audit == "city"
    assert found.exposure.n_people == 200
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
    (again,) = leakgauge.expose(plan, seed=6)
    assert not np.array_equal(again.exposure.cells, found.exposure.cells)


def test_folder_of_another_run_is_not_overwritten(plan, tmp_path):
    folder = tmp_path / "run"
    leakgauge.run(plan, out=folder)
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(BadInput, match="another plan"):
        leakgauge.expose(plan, out=folder, seed=9)
    assert {path.name for path in folder.iterdir()} == before


def test_report_mentions_exposure_without_names(plan, tmp_path):
    folder = tmp_path / "run"
    leakgauge.run(plan, out=folder)
    assert "How exposed is everybody?" not in (folder / "report.html").read_text()
    leakgauge.expose(plan, out=folder)
    assert "How exposed is everybody?" in (folder / "report.html").read_text()
    assert "How exposed is everybody?" in (folder / "exposure.html").read_text()
    leakgauge.run(plan, out=folder)
    assert "How exposed is everybody?" in (folder / "report.html").read_text()


def test_expose_and_run_can_use_the_same_folder_in_either_order(plan, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    leakgauge.expose(plan, out=first)
    leakgauge.run(plan, out=first)
    leakgauge.run(plan, out=second)
    leakgauge.expose(plan, out=second)
    assert "How exposed is everybody?" in (first / "report.html").read_text()
    shown = [read_exposure_summary(folder) for folder in (first, second)]
    assert shown[0] == shown[1]
    leakgauge.expose(plan, out=tmp_path / "third")
    with pytest.raises(BadInput, match="holds the exposure of another plan"):
        leakgauge.run(plan, out=tmp_path / "third", seed=9)


def test_exposure_of_changed_data_is_not_written_beside_a_run(plan, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    leakgauge.run(plan, out=folder)
    exposed = leakgauge.expose(plan)
    changed = [replace(one, data="of other people") for one in exposed]
    monkeypatch.setattr(api, "expose_plan", lambda *_: changed)
    with pytest.raises(BadInput, match="holds a run with other data for city"):
        leakgauge.expose(plan, out=folder)
    assert not (folder / "exposure.json").exists()


def test_people_are_counted_by_accuracy_with_the_numerical_error():
    people = [0.6, 0.8, 0.89995, 0.90005, 0.9002, 0.99]  # the error is 0.0001
    summary = exposure.summarise([made_up(list("abcdef"), people)])
    identified = summary["audits"][0]["attackers"][0]["identified"]
    place = identified["accuracy"].index(0.9)
    assert (identified["at_least"][place], identified["at_most"][place]) == (2, 4)
    assert identified["at_most"][0] == 6
    assert identified["at_most"][-1] == 0


def test_damaged_summary_is_reported(tmp_path):
    exposure.save_exposure([made_up(["Ada Lovelace", "Alan Turing"], [0.6, 0.9])], tmp_path)
    path = tmp_path / "exposure.json"
    edited = path.read_text().replace('"people": 2', '"people": 20', 1)
    assert edited != path.read_text()
    for content in ("", "{", "{}", "[]", "null", '{"schema": 1, "audits": []}', edited):
        path.write_text(content)
        with pytest.raises(BadInput, match=r"exposure.json: damaged, or .* write it again"):
            read_exposure_summary(tmp_path)
    assert read_exposure_summary(tmp_path / "nowhere") is None


def with_promises(kairouz, tight):
    """Three people, of whom the second is the most exposed."""
    plain = made_up(["a", "b", "c"], [0.6, 0.9, 0.5])
    promised = PersonalGuarantees(
        nominal=0.5,
        unit="event",
        delta=np.full(3, 1e-5),
        kairouz=np.array(kairouz, dtype=float),
        tight=np.array(tight, dtype=float),
    )
    return AuditExposure("city", "locations", replace(plain.exposure, promised=promised))


def test_both_compositions_are_kept_beside_nominal_epsilon(tmp_path):
    exposure.save_exposure([with_promises([2.5, np.inf, 1.25], [2.0, 30.125, 1.0])], tmp_path)
    with (tmp_path / "exposure.csv").open(newline="") as file:
        rows = [
            [row[name] for name in ("person", "epsilon_nominal", "delta", "epsilon_kairouz", "epsilon_tight")]
            for row in csv.DictReader(file)
        ]
    assert rows == [
        ["b", "0.5", "1e-05", "inf", "30.125"],
        ["a", "0.5", "1e-05", "2.5", "2"],
        ["c", "0.5", "1e-05", "1.25", "1"],
    ]


def test_promises_are_summarised_without_names(tmp_path):
    summary = exposure.save_exposure([with_promises([2.5, np.inf, 1.25], [2.0, 30.125, 1.0])], tmp_path)
    promised = summary["audits"][0]["promised"]
    assert promised["nominal"] == {"epsilon": 0.5, "unit": "event", "exact": None}
    assert (promised["kairouz"]["0.5"], promised["kairouz"]["1.0"]) == (2.5, None)
    assert (promised["tight"]["0.5"], promised["tight"]["1.0"]) == (2.0, 30.125)
    json.dumps(summary, allow_nan=False)


def test_promise_to_a_person_does_not_contradict_what_each_person_gets(plan, capsys):
    """With unit = "user" the stated epsilon is for a whole person; several releases add up."""
    text = plan.read_text().replace("epsilon = 1.0", 'unit = "user", epsilon = 1.0')
    text = text.replace("group_size = 60", 'group_size = "everyone", per_user = 4')
    for releases, promised in (
        (1, "ε = 1 for one person"),
        (4, "in each of 4 releases, which add up to ε = 4"),
    ):
        more = "" if releases == 1 else f", releases = {releases}"
        plan.write_text(text.replace("visits = 6", f"visits = 6{more}"))
        assert main(["expose", str(plan), "--out", str(plan.parent / str(releases))]) == 0
        out = capsys.readouterr().out.replace("\xa0", " ")
        assert promised in out
        assert "This covers whoever uses the whole cap" in out
        assert "adds up over all the cells" not in out
        most = [
            float(line.split(" / ")[2].split(",")[0]) for line in out.splitlines() if "    kairouz" in line
        ]
        assert most
        assert max(most) <= releases


@pytest.mark.parametrize("unit", ["event", "user"])
def test_promise_says_that_a_replacement_counts_too(unit):
    promised = {"delta": {"1.0": 0.0}, "nominal": {"unit": unit}, "replaces": True}
    said = personal_promise({"domain": "locations", "promised": promised})
    assert "they and the person who takes their place" in said


def test_rejects_promises_of_other_people():
    with pytest.raises(BadInput, match="numbers for each of 3 people, got 1"):
        with_promises([1.0], [1.0, 2.0, 3.0])


def test_each_person_is_promised_their_own_cells(plan):
    """At epsilon 1 per event: never more than their number of cells."""
    (found,) = leakgauge.expose(plan)
    promised, cells = found.exposure.promised, found.exposure.cells
    assert (promised.nominal, promised.unit) == (1.0, "event")
    assert (promised.tight <= promised.kairouz).all()
    assert (promised.kairouz <= cells).all()
    assert (promised.tight > 0.5 * cells).all()


def test_raw_release_has_no_promise(plan):
    plan.write_text(PLAN.replace('name = "laplace", epsilon = 1.0', 'name = "raw"'))
    (found,) = leakgauge.expose(plan)
    assert found.exposure.promised is None


def test_replace_one_promise_covers_the_substitute(plan):
    plan.write_text(PLAN.replace("group_size = 60", 'group_size = 60, relation = "replace_one"'))
    (one,) = leakgauge.expose(plan)
    plan.write_text(PLAN)
    (other,) = leakgauge.expose(plan)
    assert (one.exposure.promised.kairouz > other.exposure.promised.kairouz + 3).all()


def test_terminal_shows_progress(plan, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name, value in {"TTY_COMPATIBLE": "1", "COLUMNS": "120", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    told = []

    @contextmanager
    def watched(total, **settings):
        with progress_bar(total, **settings) as advance:
            told.append((total, 0))

            def watch(name, steps):
                told.append((name, steps))
                advance(name, steps)

            yield watch

    monkeypatch.setattr(exposure, "progress_bar", watched)
    leakgauge.expose(plan)
    steps = ["data", "informed", "auxiliary", "zero", "promises"]
    assert [name for name, _ in told[1:]] == [*(f"city: {step}" for step in steps), "city"]
    assert told[0][0] == sum(n for _, n in told[1:]) == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert "steps" in err
    assert "5/5" in err


def test_recognised_people_are_counted():
    summary = exposure.summarise([made_up(["a", "b", "c", "d"], [0.5, 0.8999, 0.9, 1.0])])
    (against,) = summary["audits"][0]["attackers"]
    assert against["recognised"] == {"accuracy": 0.9, "people": 2}
    bars = against["histogram"]
    assert (bars["metric"], bars["edges"][0], bars["edges"][-1]) == ("accuracy", 0.5, 1.0)
    full = {edge: n for edge, n in zip(bars["edges"][:-1], bars["people"], strict=True) if n}
    assert full == {0.5: 1, 0.88: 1, 0.9: 1, 0.98: 1}
