import numpy as np
import pytest
from scipy.special import logsumexp

from leakgauge.strategies.columns import Columns
from leakgauge.strategies.laws import Whole
from leakgauge.strategies.tabulating import Cells, averaged, counts_that_matter, spread_of, tabulate
from strategies.summing import log_masses


class Triangle:
    """Noise of -1, 0 or 1."""

    between = Whole()

    def log_at(self, distances):
        near = np.abs(distances) <= 1
        chances = np.array([0.2, 0.5, 0.3])[np.where(near, distances + 1, 0).astype(int)]
        return np.where(near, np.log(chances), -np.inf)


class Steady:
    """A law that falls by e^-0.3 per step."""

    between = Whole()

    def log_at(self, distances):
        return -0.3 * np.abs(distances)


@pytest.mark.parametrize("sizes", [(20, 20), (20, 21)])
@pytest.mark.parametrize("law", [Triangle(), Steady()])
def test_a_table_holds_the_ratios_of_direct_sums(law, sizes):
    cells, columns = Cells(*sizes, 2, np.array([0.1, 0.4])), Columns.over(-2.0, 26.0, Whole())
    table = tabulate(law, cells, columns)
    counts = np.arange(sizes[1] + 3)
    for row, rate in enumerate(cells.rates):
        inside, outside = (np.append(log_masses(n, rate, 2), [-np.inf] * (sizes[1] - n)) for n in sizes)
        for column, place in enumerate(columns.places):
            there = logsumexp(inside + law.log_at(place - 1.0 - counts))
            away = logsumexp(inside + law.log_at(place - 1.0 * counts))
            without = logsumexp(outside + law.log_at(place - 1.0 * counts))
            for ratios, log in ((table.present, there), (table.absent, away)):
                if ratios is not None and max(log, without) > -np.inf:
                    assert ratios.at[row, column] == pytest.approx(
                        np.clip(log - without, -1e6, 1e6), abs=1e-9
                    )
    assert (table.absent is None) == (sizes[0] == sizes[1])


def test_a_table_may_be_made_from_any_law():
    cells, law = Cells(20, 20, 0, np.array([0.1])), Steady()
    columns, counts = Columns.over(0.0, 9.0, Whole()), range(21)
    log_law = law.log_at(columns.places - np.arange(22.0)[:, None])
    np.testing.assert_allclose(
        averaged(log_law, counts, cells, columns).present.at,
        tabulate(law, cells, columns).present.at,
        atol=1e-9,
    )


def test_a_flat_law_needs_no_counts_near_its_outputs():
    cells = Cells(10_000, 10_000, 0, np.array([0.001]))
    assert len(counts_that_matter(Steady(), cells, -9000.0, 9000.0)) < 300


def test_the_spread_of_a_law_is_where_it_has_fallen():
    distance = spread_of(Steady(), 30.0)
    assert 100 <= distance <= 112
    assert spread_of(Triangle(), 30.0) == 2


def test_outputs_are_at_home_near_their_counts():
    low, high = Cells(1000, 1000, 0, np.array([0.01, 0.02])).home(5.0, 20.0)
    assert low == -5
    assert 40 < high < 80
