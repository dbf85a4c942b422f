import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import training_epochs
from leakgauge.papers.nguyen23.data import PUBLISHED
from leakgauge.papers.paper import Scale

EPOCHS = {"r-5": 1000.0, "r-500": 90.0, "r-1000": 50.0, "r-2000": 55.0}


def studied(audit, label):
    if label not in EPOCHS:
        return None
    return {"epochs_mean": EPOCHS[label], "separated": 0.75 if label == "r-5" else 1.0}


@pytest.fixture
def cells(show, small_rows):
    return show("table_1", lambda audit, label: (1.0, 0.8 if label == "r-5" else 1.0), studied=studied)[0]


def test_table_matches_paper():
    # Table 1, row by row.
    table = PUBLISHED.tables["table_1"]
    assert tuple(map(int, table.columns)) == training_epochs.NEURONS
    assert table.row("CelebA").values == (3585, 763, 497, 297)
    assert table.row("ImageNet").values == (1610, 131, 88, 63)
    assert table.row("CIFAR-10").values == (309, 91, 54, 44)


def test_epochs_are_shown_but_not_compared(cells):
    (found,) = [c for s, c in cells.items() if s.startswith("epochs, r = 500:") and s.endswith("CIFAR-10")]
    assert (found.ours.value, found.published.value) == (90.0, 91.0)
    assert found.verdict is Agreement.OTHER_DATA


def test_trend_and_full_success_are_compared(cells):
    verdicts = {s: c.verdict for s, c in cells.items() if s.endswith("for ImageNet")}
    trend = [v for s, v in verdicts.items() if " minus r = " in s]
    assert trend == [Agreement.AGREES, Agreement.AGREES, Agreement.DIFFERS]
    won = [v for s, v in verdicts.items() if s.startswith("success, r")]
    assert won == [Agreement.DIFFERS, *[Agreement.AGREES] * 3]
    (few,) = [c for s, c in cells.items() if s.startswith("success, r = 5:") and s.endswith("ImageNet")]
    assert "25% of targets were not yet separated" in few.reason


def test_figure_9_follows_one_training(show, small_rows, monkeypatch):
    monkeypatch.setattr(training_epochs, "ENOUGH", 120)
    monkeypatch.setitem(training_epochs.LIMIT, Scale.QUICK, 25)
    cells, shown = show("figure_9", studied=studied)
    assert len(shown.charts) == 3
    for chart, (setting, cell) in zip(shown.charts, cells.items(), strict=True):
        rows = [row for row in chart.spec["data"]["values"] if row["label"] == "success"]
        last = max(rows, key=lambda row: row["x"])
        assert last["value"] == pytest.approx(cell.ours.value, abs=1e-4)
        assert f"at the last epoch, {last['x']:.0f}:" in setting
