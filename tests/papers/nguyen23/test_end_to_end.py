import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import figure_13, plans
from leakgauge.papers.paper import Scale
from leakgauge.papers.reproduction import reproduce


@pytest.mark.nightly
@pytest.mark.usefixtures("small_rows")
def test_figure_is_reproduced_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setitem(plans.FEW_EPSILONS, Scale.QUICK, (1,))
    monkeypatch.setitem(plans.ROUNDS, Scale.QUICK, 200)  # small rows win fewer games, and need more of them
    made = reproduce("nguyen23", only="figure_11", out=tmp_path / "out")
    won = {cell.setting: cell for cell in made.cells if cell.setting.startswith("success, likelihood neuron")}
    assert len(won) == 6
    assert all("(exact: 1,6" in name for name in won)  # 35,342 x 24 / 512
    assert all(cell.verdict is Agreement.OURS_ONLY for cell in won.values())
    assert made.page.stat().st_size > 10_000


@pytest.mark.nightly
@pytest.mark.usefixtures("small_rows")
def test_gradient_noise_averages_out_as_predicted(tmp_path, monkeypatch):
    monkeypatch.setitem(figure_13.TARGETS, Scale.QUICK, 4)
    monkeypatch.setitem(figure_13.TRAINED_TARGETS, Scale.QUICK, 1)
    made = reproduce("nguyen23", only="figure_13", out=tmp_path / "out")
    played = [cell for cell in made.cells if cell.setting.endswith("simulated")]
    assert len(played) == 5
    for cell in played:
        assert cell.ours.value == pytest.approx(cell.exact, abs=0.13)
