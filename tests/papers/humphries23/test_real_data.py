"""Table II from the published files, and a figure from start to end with few rows."""

import os

import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.humphries23 import plans
from leakgauge.papers.reproduction import reproduce

FOLDER = os.environ.get("LEAKGAUGE_DATA")
needs_data = pytest.mark.skipif(
    FOLDER is None, reason="real data are not part of the package; LEAKGAUGE_DATA names their folder"
)


@needs_data
@pytest.mark.nightly
def test_table_2_agrees_except_three_rows(tmp_path):
    made = reproduce("humphries23", only="table_2", data=FOLDER, out=tmp_path / "out")
    assert made.count(Agreement.AGREES) == 43
    (other,) = [cell for cell in made.cells if cell.verdict is Agreement.DIFFERS]
    assert (other.ours.value, other.published.value) == (15_135, 15_132)
    assert {cell.setting.partition(": ")[2] for cell in made.cells if cell.other_data} == {"texas, region #3"}


@needs_data
def test_students_are_simulated_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "EPOCHS", 2)
    made = reproduce("humphries23", only="figure_7", data=FOLDER, out=tmp_path / "out")
    (apart,) = [cell for cell in made.cells if "non-IID minus IID" in cell.setting]
    assert apart.ours.low < apart.ours.high
    (blind,) = [cell for cell in made.cells if "blind control" in cell.setting]
    assert blind.ours.low > 0.2  # schools differ, whatever a model does
    assert made.page.stat().st_size > 10_000


@pytest.mark.nightly
def test_generated_rows_are_simulated_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "EPOCHS", 3)
    made = reproduce("humphries23", only="figure_4", out=tmp_path / "out")
    assert not any(cell.verdict.is_compared for cell in made.cells)
    assert sum("average threshold" in cell.setting for cell in made.cells) >= 3
