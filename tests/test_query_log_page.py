"""The page on query logs: its example gives the table it shows, and its numbers are right."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from leakgauge.cli.main import main
from leakgauge.domains.queries.log.answers import LOG_FIELDS
from leakgauge.theory import loss_composition
from leakgauge.theory.privacy_loss import LaplaceCell

PAGE = (Path(__file__).parent.parent / "docs" / "query-log.md").read_text()


def test_example_matches_its_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (log,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (command, *_) = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "asked.csv").write_text(log)
    assert main(shlex.split(command)[1:]) == 0
    with (tmp_path / "runs" / "asked" / "exposure.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    lines = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|")]
    rows = [[word.strip() for word in line] for line in lines]
    header = next(row for row in rows if row[0] == "record")
    first = rows.index(header) + 2
    assert rows[first : first + 5] == [[row[name] for name in header] for row in found]


def test_log_columns_are_documented():
    for name in (*LOG_FIELDS, "query", "record", "records", "contribution"):
        assert f"`{name}`" in PAGE, name


def test_ten_answers_allow_less_than_their_epsilon():
    assert 1 / (1 + np.exp(-3.0)) == pytest.approx(0.95, abs=0.005)
    assert loss_composition.best_attack([(LaplaceCell(0.3), 10)]).accuracy[1] == pytest.approx(
        0.675, abs=5e-4
    )
    allowed = "correct identifications, but the distribution of their noise allows only 67.5%"
    assert f"add up to 3, which\nwould allow 95% {allowed}" in PAGE
