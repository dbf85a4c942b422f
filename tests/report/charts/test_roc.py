import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.roc import CHANCE_CURVE, RocCurve, resample_curve, roc_chart

EPSILON = 1.0
CORNER = float(1 / (1 + np.exp(EPSILON)))
BOUND = RocCurve("bound", [0.0, CORNER, 1.0], [0.0, 1 - CORNER, 1.0])
FPR = np.linspace(0, 1, 5001)
FINE = RocCurve("fine", FPR.tolist(), np.sqrt(FPR).tolist())


def rows(chart):
    """The points of each curve, by its label."""
    names = next(param["value"] for param in chart.spec["params"] if param["name"] == "names")
    return [point | {"who": names[point["curve"]]} for point in chart.spec["data"]["values"]]


def draw(curves=(FINE,), allowed=(BOUND,), *, log=False):
    return roc_chart("roc", curves, allowed, log=log, caption="c", alternative="a")


def test_bound_follows_formula_on_log_axes():
    fpr, tpr = resample_curve(BOUND, 1e-4)
    expected = np.minimum(
        np.exp(EPSILON) * fpr, 1 - np.exp(-EPSILON) * (1 - fpr)
    )  # Kairouz et al. 2015, delta 0
    np.testing.assert_allclose(tpr, expected, rtol=1e-9)
    assert fpr[0] >= 1e-4
    assert fpr.size > 40
    assert (np.diff(fpr) >= 0).all()


def test_randomized_response_does_not_exceed_its_bound_on_log_axes():
    chart = draw([RocCurve("rr", BOUND.fpr, BOUND.tpr)], log=True)
    drawn = {who: [(r["fpr"], r["tpr"]) for r in rows(chart) if r["who"] == who] for who in ("rr", "bound")}
    assert drawn["rr"] == drawn["bound"]


def test_axes_begin_below_smallest_fpr():
    chart = draw([RocCurve("few", [0.0, 0.002, 1.0], [0.0, 0.1, 1.0])], log=True)
    assert min(row["fpr"] for row in rows(chart)) == pytest.approx(1e-3)
    coarse = draw([RocCurve("coarse", [0.0, 0.5, 1.0], [0.0, 0.9, 1.0])], log=True)
    assert min(row["fpr"] for row in rows(coarse)) == pytest.approx(1e-2)


def test_curves_and_chance_line_are_in_the_legend():
    chart = draw([FINE, RocCurve("other", [0, 1], [0, 1])])
    expected = ["fine", "other", "bound", CHANCE_CURVE.label]
    assert [key.label for key in chart.keys] == expected
    assert list(dict.fromkeys(row["who"] for row in rows(chart))) == expected
    assert [key.stroke for key in chart.keys] == ["line", "line", "dashed", "dotted"]


@pytest.mark.parametrize(
    ("fpr", "tpr", "says"),
    [([0, 1], [0], "2 FPRs but 1 TPRs"), ([], [], "0 FPRs"), ([0.5, 0.1], [0, 1], "must not decrease")],
)
def test_rejects_invalid_curve(fpr, tpr, says):
    with pytest.raises(BadInput, match=says):
        RocCurve("bad", fpr, tpr)
