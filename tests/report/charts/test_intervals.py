import pytest

from leakgauge.report.charts.intervals import IntervalRow, interval_chart


def draw(rows, **more):
    return interval_chart("it", rows, title="t", caption="c", alternative="a", **more)


def values(chart):
    return chart.spec["data"]["values"]


def scale(chart):
    return chart.spec["layer"][0]["encoding"]["x"]["scale"]


def test_rows_have_numbers_and_text():
    (row,) = values(
        draw([IntervalRow(label="x", shown="0.7", within="1", value=0.7, low=0.6, high=0.8, allowed=1.0)])
    )
    assert {key: row[key] for key in ("value", "low", "high", "allowed", "shown", "within")} == {
        "value": 0.7, "low": 0.6, "high": 0.8, "allowed": 1.0, "shown": "0.7", "within": "1",
    }  # fmt: skip


def test_legend_names_the_marks():
    bare = draw([IntervalRow(label="x", shown="≥ 1", low=1.0)])
    assert [(key.label, key.stroke) for key in bare.keys] == [("measured", "bar")]
    full = draw([IntervalRow(label="x", shown="s", value=0.7, allowed=0.9, series="AUC")], chance=0.5)
    assert [key.label for key in full.keys] == ["AUC", "most the promise allows", "coin toss"]


@pytest.mark.parametrize(("promised", "kind"), [(2.0, "linear"), (2207.0, "symlog")])
def test_distant_bound_does_not_compress_the_axis(promised, kind):
    chart = draw([IntervalRow(label="x", shown="s", low=1.5, allowed=promised)])
    assert scale(chart)["type"] == kind
    assert scale(chart)["domain"][1] > promised


def test_infinite_bound_is_omitted():
    chart = draw([IntervalRow(label="x", shown="s", low=1.5, allowed=float("inf"))])
    assert values(chart)[0]["allowed"] is None
    assert [key.label for key in chart.keys] == ["measured"]
    assert scale(chart) == {"type": "linear", "domain": [0, pytest.approx(1.62)]}


def test_span_fixes_the_axis():
    assert scale(draw([IntervalRow(label="x", shown="s", value=0.6)], span=(0.4, 1.0)))["domain"] == [
        0.4,
        1.0,
    ]
