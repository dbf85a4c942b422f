import pytest

pytestmark = pytest.mark.usefixtures("small_rows")


def test_exact_epsilon_and_trade_off(show):
    cells, shown = show("exact", lambda audit, label: (0.5, 0.5) if audit.name[:5] == "exact" else (1, 1))
    won = [cell for setting, cell in cells.items() if setting.startswith("success, ")]
    assert len(won) == 8
    assert all(cell.ours.value == 0.5 for cell in won)
    assert len(shown.charts) == 2
    for chart in shown.charts:
        labels = {row["label"] for row in chart.spec["data"]["values"]}
        assert {"BitRand, exact ε of 1 to 10", "OME, exact ε of 1 to 10"} <= labels
        assert sum(label.startswith("BitRand, nominal") for label in labels) == 4
