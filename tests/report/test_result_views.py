"""What results show in Python: the decision, tables and charts; escaped, without people."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure
from leakgauge.exposure import AuditExposure
from leakgauge.report import result_views
from leakgauge.summary import RunResult, summarise_run
from leakgauge.verdict import verdicts_to_json

METHODS = ("to_frame", "plot", "check", "save_report", "_repr_html_")


@pytest.fixture(scope="module")
def verdict():
    rng = np.random.default_rng(2)
    members = rng.random(400) < 0.5
    scores = members + rng.normal(size=400)
    return leakgauge.judge(members, scores, coins="fair", epsilon=0.5, limits={"accuracy": 0.55})


@pytest.fixture(scope="module")
def exposed():
    rng = np.random.default_rng(3)
    accuracy = 0.5 + 0.5 * rng.random(40)
    informed = AdversaryExposure(
        adversary="informed", basis="by theory", accuracy=accuracy, auc=accuracy, tpr=accuracy, error=1e-6
    )
    names = np.array([f"Rumpelstilzchen {i}" for i in range(40)])
    return AuditExposure("<city>", "locations", Exposure(names=names, cells=None, against=(informed,)))


@pytest.fixture
def result(verdict):
    return RunResult((verdict,), summarise_run([verdict]), judge_again=lambda limits: None)


def test_all_results_have_the_same_methods(verdict, exposed, result):
    for one in (verdict, exposed, result):
        assert all(callable(getattr(one, name)) for name in METHODS)


def test_the_decision_is_words_and_a_static_chart(verdict, result):
    for html in (verdict._repr_html_(), result._repr_html_()):
        assert "Promise broken." in html
        assert "<svg" in html
        assert "most the promise allows (62.2%)" in html
        for outside in ("<script", "http://www.w3.org/1999/xlink:href", "https://", "var(--"):
            assert outside not in html


def test_names_from_plans_are_escaped(verdict):
    evil = replace(verdict, audit="<script>alert(1)</script>", label="<b>x</b>", evidence=("<i>said</i>",))
    html = evil._repr_html_()
    assert "<script" not in html
    assert "<b>x" not in html
    assert "<i>said" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html


def test_many_attackers_are_cut_in_a_notebook(verdict):
    many = [replace(verdict, label=f"attacker-{i}") for i in range(15)]
    html = result_views.result_html(many, {"summary": summarise_run(many)})
    assert "3 more attackers: see to_frame()" in html


def test_frames_of_whatever_is_installed(verdict, monkeypatch):
    monkeypatch.setattr(result_views, "find_spec", lambda name: None)
    columns = verdict.to_frame()
    assert list(columns) == list(result_views.COLUMNS)
    assert columns["finding"][0] == "violated"
    for library in ("pandas", "polars"):
        pytest.importorskip(library)
        monkeypatch.setattr(result_views, "_LIBRARIES", (library,))
        monkeypatch.setattr(result_views, "find_spec", lambda name: True)
        assert list(verdict.to_frame().columns) == list(result_views.COLUMNS)


def test_charts_are_valid_charts_of_altair(verdict, exposed):
    for chart in (verdict.plot(), exposed.plot()):
        spec = chart.to_dict()  # validated against the schema of Vega-Lite
        assert spec["width"] == 520
        assert "var(--" not in chart.to_json()


def test_nothing_to_draw_is_said(verdict):
    empty = {name: replace(one, value=None, low=None, high=None) for name, one in verdict.metrics.items()}
    with pytest.raises(BadInput, match="plot: no attacker of this result has a number to draw"):
        replace(verdict, metrics=empty).plot()
    assert "<svg" not in replace(verdict, metrics=empty)._repr_html_()


def test_a_verdict_is_judged_by_other_limits(verdict):
    assert verdict.check({"accuracy": 0.99}).risk.status == "within"
    assert verdict.check({"accuracy": 0.55}).risk == summarise_run([verdict]).risk
    assert verdict.check(leakgauge.Limits(metrics={"accuracy": 0.55})).exit_code == 1
    assert verdict.check({"accuracy": 0.99, "recognised": 0.01}).risk.status == "undecided"


def test_the_trials_of_a_verdict_go_into_no_file(verdict):
    assert "_judge_again" not in str(verdicts_to_json([verdict]))
    for other in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict), replace(verdict)):
        assert other == verdict
        with pytest.raises(BadInput, match="check: this verdict has no trials"):
            other.check({"accuracy": 0.6})


def test_several_pairs_can_be_checked_too():
    found = leakgauge.audit_mechanism(
        lambda value, rng: value, [(0, 1), (1, 2)], epsilon=1.0, rounds=100, seed=3
    )
    answer = found.check({"accuracy": 0.6})
    assert answer.exit_code == 1
    assert answer.risk.status == "over"


def test_an_exposure_names_nobody_but_in_its_frame(exposed, tmp_path):
    html = exposed._repr_html_()
    assert "How many people could be recognised?" in html
    assert "<svg" in html
    page = exposed.save_report(tmp_path / "exposure.html").read_text(encoding="utf-8")
    for text in (html, page, exposed.plot().to_json()):
        assert "Rumpelstilzchen" not in text
        assert "<city>" not in text
    frame = exposed.to_frame()
    assert frame["person"][0].startswith("Rumpelstilzchen")
    assert frame["informed_accuracy"][0] == pytest.approx(max(exposed.exposure.against[0].accuracy), abs=1e-4)


def test_an_exposure_is_compared_with_people_recognised(exposed):
    share = (exposed.exposure.against[0].accuracy >= 0.9).mean()
    assert exposed.check({"recognised": share / 2}).status == "over"
    assert exposed.check({"recognised": min(0.999, share + 0.1)}).status == "within"
    with pytest.raises(BadInput, match=r'state \{"recognised": 0\.01\}'):
        exposed.check({"accuracy": 0.6})


@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_reports_are_html_files(verdict, exposed, name, tmp_path):
    for one in (verdict, exposed):
        with pytest.raises(BadInput, match="a report is an HTML file"):
            one.save_report(tmp_path / name)


def test_the_report_of_a_run_with_a_folder_shows_its_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = {
        "title": "Counts of May",
        "audit": [
            {
                "name": "noise",
                "domain": "blackbox",
                "rounds": 60,
                "challenger": {"pair": [0, 1]},
                "mechanism": {"name": "laplace", "epsilon": 1.0},
                "attacks": ["likelihood"],
            }
        ],
    }
    found = leakgauge.run(plan, out="kept")
    assert found.check({"accuracy": 0.99, "attackers": ["law"]}).risk.status == "within"
    written = found.save_report("again.html").read_text(encoding="utf-8")
    assert "Counts of May" in written
    assert "laplace" in written
