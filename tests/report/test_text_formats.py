import csv
import io
import json

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.text_formats import csv_text, json_text, markdown_text, write_text_report

NASTY = "=1+1 | <script>alert(1)</script> `x`"


@pytest.fixture
def run(every_kind, make, manifest):
    return JudgedRun([*every_kind, make(audit="names", label=NASTY)], manifest)


def test_markdown_has_the_decision_then_a_table(run):
    text = markdown_text(run)
    assert text.startswith("# What does this release leak?")
    parts = ["Promise broken", "What to do next", "| Attacker |"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "| counts-by-hour · learned-event | violated |" in text
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}


def test_csv_has_a_line_for_each_number(run):
    rows = list(csv.DictReader(io.StringIO(csv_text(run))))
    assert len(rows) == sum(len(verdict.metrics) for verdict in run.verdicts)
    (row,) = [row for row in rows if row["attacker"] == "learned-event" and row["metric"] == "accuracy"]
    assert (float(row["value"]), float(row["low"]), float(row["allowed"])) == (0.8644, 0.8493, 0.7311)
    assert row["promise"] == "violated"
    assert not any(value.startswith("=") for row in rows for value in row.values())


def test_json_has_the_decision_and_all_verdicts(run):
    content = json.loads(json_text(run))
    assert content["decision"]["promise"]["words"] == "Promise broken"
    assert content["summary"]["exit_code"] == 1
    assert len(content["verdicts"]) == len(run.verdicts)


def test_unknown_format_is_refused(run, tmp_path):
    with pytest.raises(BadInput, match="no report format 'pdf'; known: html, md, csv, json"):
        write_text_report(run, "pdf", tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []
