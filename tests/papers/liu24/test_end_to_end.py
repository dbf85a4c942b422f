import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import plans
from leakgauge.papers.paper import Scale
from leakgauge.papers.reproduction import reproduce


@pytest.mark.nightly
def test_rules_and_networks_reach_expected_accuracy(tmp_path, monkeypatch):
    monkeypatch.setitem(plans.ROUNDS, Scale.QUICK, 5_000)
    monkeypatch.setitem(plans.CELL_COUNTS, Scale.QUICK, (5, 60))
    monkeypatch.setitem(plans.TIMES, Scale.QUICK, 1)
    made = reproduce("liu24", only="figure_13", out=tmp_path / "out")
    differing = [cell.setting for cell in made.cells if cell.verdict is Agreement.DIFFERS]
    assert all("informed minus auxiliary" in setting for setting in differing)  # few others in this city
    found = {cell.setting: cell.ours for cell in made.cells}
    exact = {"one_threshold": 0.9150, "two_threshold": 0.9580, "likelihood": 0.9639}  # computed elsewhere
    for attack, rate in exact.items():
        ours = found[f"accuracy: {attack}, informed, 60 cells, simulated"]
        assert ours.low < rate < ours.high
        assert found[f"accuracy: {attack}, auxiliary, 60 cells, simulated"].value < rate + 0.01
    network = found["accuracy: network, 2,000 shadows, informed, 60 cells, simulated"]
    assert 0.85 < network.value < exact["one_threshold"] + 0.01
    assert (tmp_path / "out" / "runs" / "laplace_0-quick" / "verdicts.json").exists()
