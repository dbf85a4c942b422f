import json

import pytest


def test_report_is_regenerated(call, plan, tmp_path):
    call("run", plan())
    report = tmp_path / "runs" / "coin" / "report.html"
    first = report.read_text()
    report.unlink()
    outcome = call("report", "runs/coin")
    assert outcome == (0, "Report: runs/coin/report.html\n", "")
    assert report.read_text() == first
    assert str(tmp_path) not in first, "a report names no place of the machine"
    assert json.loads(call("report", "runs/coin", "--json").out) == {"report": "runs/coin/report.html"}


@pytest.mark.parametrize("style", ["md", "csv", "json"])
def test_report_has_other_formats(call, plan, tmp_path, style):
    call("run", plan())
    outcome = call("report", "runs/coin", "--format", style)
    assert outcome == (0, f"Report: runs/coin/report.{style}\n", "")
    text = (tmp_path / "runs" / "coin" / f"report.{style}").read_text(encoding="utf-8")
    assert "epsilon" in text or "ε" in text
    assert str(tmp_path) not in text
    if style == "json":
        assert set(json.loads(text)) >= {"title", "decision", "summary", "verdicts"}


def test_unjudged_run_has_no_report(call, plan, tmp_path):
    call("run", plan())
    (tmp_path / "runs" / "coin" / "verdicts.json").unlink()
    outcome = call("report", "runs/coin")
    assert outcome.code == 2
    assert "not judged yet; run: leakgauge judge runs/coin" in outcome.err


def test_non_run_folder_exits_with_code_2(call):
    assert call("report", "nowhere").code == 2
