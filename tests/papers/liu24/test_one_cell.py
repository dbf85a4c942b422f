import tomllib

import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import PAPER, one_cell
from leakgauge.papers.liu24.busy_cell import BusyCell
from leakgauge.papers.paper import Scale, Scope


def test_the_played_cell_is_visited_by_as_many_as_it_should(tmp_path):
    from leakgauge.domains.locations.data import load

    small = BusyCell(group=50, people=500, rate=0.05)
    text = one_cell.write_audit("it", Scope(scale=Scale.QUICK), small)
    (audit,) = tomllib.loads(text)["audit"]
    assert audit["challenger"]["group_size"] == 51
    assert audit["challenger"]["reference"] == 501
    traces = load(audit["data"], tmp_path, 3).traces
    assert traces.n_people == 1_001
    assert set(traces.n_visits) == {60}
    assert traces.map.n_cells == 1_200
    visitors = traces.visitors()
    assert visitors.mean() / traces.n_people == pytest.approx(0.05)
    # Each cell: a binomial number of visitors, none busier than another.
    assert visitors.var() == pytest.approx(1_001 * 0.05 * 0.95, rel=0.2)
    by_epoch = visitors.reshape(60, 20).sum(axis=0)
    assert np.ptp(by_epoch) < 8 * by_epoch.mean() ** 0.5


def test_the_numbers_of_figure_7(pretend):
    shown = pretend("figure_7")
    cells = {cell.setting: cell for cell in shown.cells}
    assert cells["one_threshold, 60 such cells"].ours.value == pytest.approx(0.786, abs=0.001)
    assert cells["two_threshold, 60 such cells"].ours.value == pytest.approx(0.745, abs=0.002)
    assert cells["likelihood, 60 such cells"].ours.value == pytest.approx(0.788, abs=0.001)
    lead = cells["two_threshold less one_threshold, 60 such cells"]
    assert lead.verdict is Agreement.DIFFERS
    assert [chart.name for chart in shown.charts] == ["figure-7-informed", "figure-7-auxiliary"]


@pytest.mark.slow
def test_sixty_such_cells_are_worth_that_when_played(tmp_path):
    from leakgauge.papers.reproduction import reproduce

    made = reproduce("liu24", only="figure_7", out=tmp_path / "out")
    cells = {cell.setting: cell for cell in made.cells}
    wanted = {"one_threshold": 0.786, "two_threshold": 0.745, "likelihood": 0.788}
    for attack, rate in wanted.items():
        played = cells[f"{attack}, played, at the best threshold"].ours
        assert played.value == pytest.approx(rate, abs=0.015)
        assert played.low < rate < played.high
    assert PAPER.items["figure_7"].plan is not None
