import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import figure_6
from leakgauge.papers.paper import Scale

pytestmark = pytest.mark.usefixtures("small_rows")


def test_clustered_copies_are_nearest_neighbours():
    rng = np.random.default_rng(3)
    heap, rest = rng.normal(size=(40, 2)), rng.normal(loc=50, size=(80, 2))
    assert figure_6.together(heap, rest) == 1.0
    mixed = rng.normal(size=(120, 2))
    assert figure_6.together(mixed[:40], mixed[40:]) == pytest.approx(39 / 119, abs=0.2)


def test_map_shows_target_and_others(show, monkeypatch):
    monkeypatch.setitem(figure_6.COPIES, Scale.QUICK, 20)
    monkeypatch.setitem(figure_6.OTHERS, Scale.QUICK, 40)
    cells, shown = show("figure_6")
    assert len(shown.charts) == 4
    rows = shown.charts[0].spec["data"]["values"]
    assert [sum(row["label"].startswith(who) for row in rows) for who in ("the target", "other")] == [20, 40]
    for cell in cells.values():
        assert cell.verdict is Agreement.NOT_PRINTED  # "able", "unable to group": no number
        assert "to group together" in cell.reason
