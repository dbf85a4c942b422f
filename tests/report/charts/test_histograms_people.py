import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.histograms import people_chart

EDGES, SHARES = np.array([0.5, 0.7, 0.9, 1.0]), np.array([0.2, 0.5, 0.3])


def draw(level=0.9, shares=SHARES):
    return people_chart(
        "it", EDGES, shares, level=level, most=0.6, colour="blue", x_title="x", caption="c", alternative="a"
    )


def test_bars_lie_between_their_edges_on_the_scale_they_share_with_other_panels():
    bars = draw().spec["layer"][0]
    assert [(row["x"], row["x2"], row["y"]) for row in bars["data"]["values"]] == [
        (0.5, 0.7, 0.2),
        (0.7, 0.9, 0.5),
        (0.9, 1.0, 0.3),
    ]
    assert bars["encoding"]["y"]["scale"]["domain"] == [0.0, 0.6]


def test_the_level_is_marked_and_bars_from_it_on_are_full():
    bars, mark = draw().spec["layer"]
    assert mark["data"]["values"] == [{"x": 0.9}]
    assert bars["encoding"]["opacity"]["condition"] == {"test": "datum.x >= 0.9", "value": 1.0}
    assert len(draw(level=None).spec["layer"]) == 1


def test_numbers_must_fit_together():
    with pytest.raises(BadInput, match="2 shares, 4 edges"):
        draw(shares=SHARES[:2])
