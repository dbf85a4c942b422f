import pytest

from leakgauge.strategies.columns import Columns
from leakgauge.strategies.laws import Exponential, Smooth, Whole


def test_all_places_between_the_ends_can_be_read():
    for between in (Whole(), Exponential(2.0), Smooth(0.3), Smooth(5.0)):
        columns = Columns.over(-3.0, 11.0, between)
        low, high = columns.readable
        assert low <= -3 <= 11 <= high
        assert columns.places.size == columns.n
        assert columns.ends == (columns.places[0], pytest.approx(columns.places[-1]))


def test_a_part_of_the_columns_lies_where_it_did():
    columns = Columns.over(-3.0, 11.0, Smooth(1.0))
    part = columns.part(4, 9)
    assert part.places.tolist() == pytest.approx(columns.places[4:10].tolist())
