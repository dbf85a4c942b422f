import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import figure_7
from leakgauge.papers.liu24.exact_values import accuracy
from leakgauge.papers.liu24.figure_7 import BusyCell
from leakgauge.papers.liu24.plans import SCALE
from leakgauge.papers.paper import Scale, Scope

CELL = BusyCell(group=2_000, people=10_000, rate=0.01)
N_DRAWN, N_CELLS = 100_000, 60


@pytest.fixture(scope="module")
def drawn():
    """Releases of sixty cells, every other one with the target; numpy draws counts and noise."""
    rng = np.random.default_rng(7)
    members = np.arange(N_DRAWN) % 2 == 1
    counts = rng.hypergeometric(100, 9_900, 2_000, size=(N_DRAWN, N_CELLS))
    return counts + members[:, None] + rng.laplace(scale=SCALE, size=counts.shape), members


def test_accuracies_match_known_values():
    assert CELL.one_threshold(60) == pytest.approx(0.786, abs=0.001)
    assert CELL.two_threshold(60) == pytest.approx(0.745, abs=0.002)
    low, high = CELL.optimum(60).accuracy
    assert low == pytest.approx(0.788, abs=0.001)
    assert high - low < 1e-4


def test_rule_accuracies_match_simulation(drawn):
    cells, members = drawn
    by_sum = cells.sum(axis=1) >= N_CELLS * 20.5
    assert CELL.one_threshold(N_CELLS) == pytest.approx((by_sum == members).mean(), abs=0.004)
    votes = (cells >= 20.5).sum(axis=1)
    needed = N_CELLS * sum(CELL.vote_chances) / 2
    assert CELL.two_threshold(N_CELLS) == pytest.approx(((votes >= needed) == members).mean(), abs=0.004)


def test_vote_rates_match_simulation(drawn):
    cells, members = drawn
    for world, chance in zip((~members, members), CELL.vote_chances, strict=True):
        assert (cells[world] >= 20.5).mean() == pytest.approx(chance, abs=0.001)


def test_density_matches_simulation(drawn):
    cells, members = drawn
    edges = np.arange(10.0, 32.0, 2.0)
    for world, member in ((~members, False), (members, True)):
        found, _ = np.histogram(cells[world], edges)
        fine = np.linspace(10, 30, 2001)
        law = CELL.density(fine, member=member)
        expected = [np.trapezoid(law[(fine >= a) & (fine <= a + 2)], dx=0.01) for a in edges[:-1]]
        assert found / cells[world].size == pytest.approx(np.array(expected), abs=0.001)


def test_rules_are_below_optimum():
    for visitors in (1, 8, 50):
        cell = BusyCell(group=2_000, people=10_000, rate=visitors / 10_000)
        best = cell.optimum(20).accuracy[1]
        assert max(cell.one_threshold(20), cell.two_threshold(20)) <= best + 1e-9


def test_without_other_people_only_noise_remains():
    alone = BusyCell(group=1, people=1, rate=0.0)
    n = np.array([20.0])
    assert alone.one_threshold(20) == pytest.approx(accuracy("laplace", "one_threshold", n)[0], abs=1e-9)
    assert alone.two_threshold(20) == pytest.approx(accuracy("laplace", "two_threshold", n)[0], abs=1e-9)
    assert alone.optimum(20).accuracy[0] == pytest.approx(accuracy("laplace", "likelihood", n)[0], abs=1e-3)


def test_simulated_cell_has_expected_visitors(tmp_path):
    from leakgauge.domains.locations.data.data_loader import load_visits

    small = BusyCell(group=50, people=500, rate=0.05)
    audit = figure_7.cell_audit_table("it", Scope(scale=Scale.QUICK), small)
    assert audit["challenger"]["group_size"] == 51
    assert audit["challenger"]["reference"] == 501
    traces = load_visits(audit["data"], tmp_path, 3).traces
    assert traces.n_people == 1_001
    assert set(traces.n_visits) == {60}
    assert traces.map.n_cells == 1_200
    visitors = traces.visitors()
    assert visitors.mean() / traces.n_people == pytest.approx(0.05)
    # Each cell: a binomial number of visitors, none busier than another.
    assert visitors.var() == pytest.approx(1_001 * 0.05 * 0.95, rel=0.2)
    by_epoch = visitors.reshape(60, 20).sum(axis=0)
    assert np.ptp(by_epoch) < 8 * by_epoch.mean() ** 0.5


def test_numbers_of_figure_7(pretend):
    shown = pretend("figure_7")
    cells = {cell.setting: cell for cell in shown.cells}
    assert cells["one_threshold, 60 such cells"].ours.value == pytest.approx(0.786, abs=0.001)
    assert cells["two_threshold, 60 such cells"].ours.value == pytest.approx(0.745, abs=0.002)
    assert cells["likelihood, 60 such cells"].ours.value == pytest.approx(0.788, abs=0.001)
    lead = cells["two_threshold minus one_threshold, 60 such cells"]
    assert lead.verdict is Agreement.OTHER_DATA
    assert lead.ours.value < 0
    assert [chart.name for chart in shown.charts] == ["figure-7-informed", "figure-7-auxiliary"]


@pytest.mark.nightly
def test_sixty_cells_match_simulation(tmp_path):
    from leakgauge.papers.reproduction import reproduce

    made = reproduce("liu24", only="figure_7", out=tmp_path / "out")
    cells = {cell.setting: cell for cell in made.cells}
    wanted = {"one_threshold": 0.786, "two_threshold": 0.745, "likelihood": 0.788}
    for attack, rate in wanted.items():
        played = cells[f"{attack}, simulated, at the best threshold"].ours
        assert played.value == pytest.approx(rate, abs=0.015)
        assert played.low < rate < played.high


def test_votes_win_below_about_two_expected_visitors():
    assert figure_7.crossover_density() == pytest.approx(1.8, abs=0.3)
    for visitors, wins in ((2, True), (5, True), (15, False), (100, False)):
        cell = figure_7.with_visitors(visitors)
        assert (cell.two_threshold(60) > cell.one_threshold(60)) is wins


def test_likelihood_beats_both_rules():
    for visitors in (1, 5, 10, 50, 250):
        found = figure_7.exact_accuracies(figure_7.with_visitors(visitors))
        assert found["likelihood"] > max(found["one_threshold"], found["two_threshold"])


def test_published_statement_holds_in_sparse_cells_only(pretend):
    shown = pretend("crossover")
    sparse, dense = [cell for cell in shown.cells if cell.published is not None]
    assert sparse.verdict is dense.verdict is Agreement.OTHER_DATA  # the paper has other cells
    assert sparse.ours.value > 0 > dense.ours.value
    (chart,) = shown.charts
    assert {"one_threshold", "two_threshold", "likelihood", "both rules equal"} <= {
        k.label for k in chart.keys
    }
