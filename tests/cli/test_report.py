import json
import os

import pytest

from leakgauge.runner import manifest


def test_report_is_regenerated(call, plan, tmp_path):
    call("run", plan())
    report = tmp_path / "runs" / "coin" / "report.html"
    first = report.read_text()
    report.unlink()
    outcome = call("report", "runs/coin")
    assert outcome == (0, "Report: runs/coin/report.html\n", "")
    assert report.read_text() == first
    assert str(tmp_path) not in first, "a report names no place of the machine"
    assert json.loads(call("report", "runs/coin", "--json").out) == {
        "report": "runs/coin/report.html",
        "complete": True,
    }


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


@pytest.mark.parametrize("style", ["html", "md", "json"])
def test_report_of_an_incomplete_run_says_so(call, plan, tmp_path, style):
    call("run", plan())
    (tmp_path / "runs/coin/audits/coin/peek-nothing/block-00000001.npz").write_bytes(b"")
    outcome = call("report", "runs/coin", "--format", style)
    assert outcome.code == 3
    assert outcome.err == (
        "leakgauge: runs/coin: incomplete: audit 'coin' has 100 of 200 rounds; the report shows an earlier "
        "result, as verdicts.json states it; continue with: leakgauge run coin.toml --out runs/coin\n"
    )
    text = (tmp_path / "runs" / "coin" / f"report.{style}").read_text(encoding="utf-8")
    assert "Incomplete: audit" in text
    assert "has 100 of 200 rounds. This report shows an earlier result" in text
    assert json.loads(call("report", "runs/coin", "--json").out)["complete"] is False
    assert call("run", plan()).code == call("judge", "runs/coin").code
    assert call("report", "runs/coin", "--format", style).code == 0
    text = (tmp_path / "runs" / "coin" / f"report.{style}").read_text(encoding="utf-8")
    assert "Incomplete: audit" not in text


def test_report_of_an_extended_run_says_that_it_is_incomplete(call, plan, monkeypatch):
    """More rounds were asked for, and the run was stopped before the first of them."""
    call("run", plan())

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("leakgauge.runner.run._play_audit", stop)
        assert call("run", plan(("rounds = 200", "rounds = 300"))).code == 130
    outcome = call("report", "runs/coin", "--format", "md")
    assert outcome.code == 3
    assert "has 200 of 300 rounds" in outcome.err


def test_killed_run_without_a_result_says_how_to_continue(call, plan, tmp_path):
    call("run", plan())
    folder = tmp_path / "runs" / "coin"
    for path in (folder / "verdicts.json", folder / "report.html", *folder.glob("audits/*/*/block-*1.npz")):
        path.unlink()
    outcome = call("report", "runs/coin")
    assert outcome.code == 3
    assert "has 100 of 200 rounds; there is no result to report yet" in outcome.err
    assert "continue with: leakgauge run coin.toml --out runs/coin" in outcome.err
    assert not (folder / "report.html").exists()
    assert "continue with: leakgauge run coin.toml --out runs/coin" in call("judge", "runs/coin").err
    assert call("run", "coin.toml", "--out", "runs/coin").code == 0
    assert call("report", "runs/coin").code == 0


def test_report_of_a_complete_run_says_what_its_trials_give(call, plan, tmp_path):
    """Whatever verdicts.json says, with or without its digest, and whether or not it is there."""
    call("run", plan())
    folder = tmp_path / "runs" / "coin"
    call("report", "runs/coin", "--format", "md")
    honest = (folder / "report.md").read_bytes()
    table = json.loads((folder / "verdicts.json").read_text())
    table["summary"]["reasons"] = ["May be published."]
    table["verdicts"][0]["metrics"]["accuracy"]["value"] = 0.5
    content = manifest.load(folder)
    del content["verdicts"]
    manifest.update(content, folder)
    date = (folder / "verdicts.json").stat()
    for text in (json.dumps(table), "{", None):
        (folder / "verdicts.json").unlink()
        if text is not None:
            (folder / "verdicts.json").write_text(text)
            os.utime(folder / "verdicts.json", ns=(date.st_atime_ns, date.st_mtime_ns))
        assert call("report", "runs/coin", "--format", "md").code == 0
        assert (folder / "report.md").read_bytes() == honest


def test_non_run_folder_exits_with_code_2(call):
    assert call("report", "nowhere").code == 2
