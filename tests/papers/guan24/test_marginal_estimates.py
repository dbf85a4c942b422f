import numpy as np
import pytest

from leakgauge.domains.locations.mobility.marginals import estimate_from_marginals
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.guan24 import PAPER
from leakgauge.papers.guan24.plans import CITY, ReleaseSetting
from leakgauge.papers.guan24.population import METHODS, mean_with_interval, population
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from night import others_at_night

THEORY = [f"figure_{n}" for n in (4, 5, 6, 13, 14, 15, 16, 17)]


@pytest.fixture(scope="module")
def people():
    return population(CITY)


def test_truth_is_over_all_people(people):
    traces = people.challenger.traces
    dense = np.asarray(traces.visits.sum(axis=0)).reshape(100, 168)
    np.testing.assert_allclose(people.truth.space, dense.sum(axis=1) / dense.sum())
    assert traces.n_people == 4840
    assert people.challenger.people.targets.size == 50
    assert traces.n_visits[people.challenger.people.targets].min() >= 10


@pytest.mark.parametrize("release", [ReleaseSetting(k=1), ReleaseSetting(epsilon=1.0), ReleaseSetting(k=0)])
def test_shares_match_estimators(people, release):
    row = people.releases(release, 1)[0]
    for method in METHODS[:-1]:
        found = estimate_from_marginals(
            row, people.chain(release), 1000, people.challenger.traces.map, method
        )
        for side in ("space", "time"):
            np.testing.assert_allclose(people.shares(row, release, method, side), getattr(found, side))


def test_stand_in_is_as_sparse_as_milan(people):
    counts = people.releases(ReleaseSetting(k=0), 4)
    small = np.mean([(row[row > 0] <= 5).mean() for row in counts])
    assert round(small, 2) == 0.99  # section 6.1: “99 % of all nonzero entries are suppressed by k = 5”


def test_mean_over_releases_has_student_interval():
    ours = mean_with_interval([1.0, 2.0, 3.0, 4.0])
    assert ours.value == 2.5
    assert ours.high - ours.value == pytest.approx(3.182446 * np.sqrt(5 / 3) / 2, abs=1e-5)


@pytest.mark.parametrize("name", others_at_night(THEORY, "figure_5", "figure_6", "figure_14", "figure_17"))
def test_theory_figures_are_drawn(name):
    shown = PAPER.item(name).show(PlayedItem(scope=Scope(scale=Scale.QUICK)))
    assert shown.cells
    assert shown.charts
    closer = [cell for cell in shown.cells if cell.setting.endswith("minus that of deconvolution (ours)")]
    assert all(cell.ours.value > 0 for cell in closer)
    if name == "figure_6":  # activity is log-normal where it was generated so
        stated = [cell.verdict for cell in shown.cells if cell.published is not None]
        assert stated == [Agreement.OTHER_DATA] * 2
    if name == "figure_17":
        kept = [cell for cell in shown.cells if cell.setting.endswith("over that at scale 10")]
        assert [cell.verdict for cell in kept] == [Agreement.AGREES] * 2
