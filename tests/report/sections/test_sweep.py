import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import sweep


def charts(verdicts):
    return sweep.section(JudgedRun(verdicts, {})).charts


def drawn(chart, kind):
    return [
        (row["label"], row["x"], row["value"]) for row in chart.spec["data"]["values"] if row["kind"] == kind
    ]


def test_parameter_with_most_values_is_the_axis(swept):
    accuracy, epsilon = charts(swept)
    assert epsilon.caption == "ε shown (lower bound) against epsilon"
    assert [key.label for key in epsilon.keys] == [
        "likelihood-auxiliary · suppress=0", "likelihood-auxiliary · suppress=1", "promised",
    ]  # fmt: skip
    assert drawn(epsilon, "measured")[:2] == [
        ("likelihood-auxiliary · suppress=0", 0.1, pytest.approx(0.08)),
        ("likelihood-auxiliary · suppress=0", 0.5, pytest.approx(0.4)),
    ]
    assert [(x, y) for _, x, y in drawn(epsilon, "allowed")] == [
        (e, e) for e in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
    ]
    assert accuracy.caption == "Accuracy with a calibrated threshold against epsilon"


def test_points_are_sorted(swept):
    xs = [x for label, x, _ in drawn(charts(swept[::-1])[0], "measured") if label.endswith("=0")]
    assert xs == sorted(xs)


def test_different_bounds_are_not_connected(make):
    verdicts = [
        make(audit=f"city@size={size},epsilon={epsilon}", bounds={"epsilon": epsilon})
        for size in (1, 2, 3)
        for epsilon in (1.0, 2.0)
    ]
    assert drawn(charts(verdicts)[0], "allowed") == []


@pytest.mark.parametrize(
    "names", [["one"], ["one", "two"], ["a@mechanism=x", "a@mechanism=y"], ["a@", "a@=", "a@1"]]
)
def test_no_section_without_number_to_sweep(make, names):
    assert sweep.section(JudgedRun([make(audit=name) for name in names], {})) is None


def test_missing_metric_leaves_a_gap(make, make_estimate):
    verdicts = [
        make(audit="a@n=1"),
        make(audit="a@n=2", metrics={"epsilon": make_estimate(None)}),
        make(audit="a@n=3"),
    ]
    assert [value for *_, value in drawn(charts(verdicts)[1], "measured")] == [0.7654, None, 0.7654]


def test_too_many_lines_are_truncated(make, plain):
    verdicts = [make(audit=f"a@n={n}", label=f"l{label}") for n in (1, 2) for label in range(20)]
    section = sweep.section(JudgedRun(verdicts, {}))
    assert len(section.charts[0].keys) == sweep.MOST_LINES + 1
    assert f"At most {sweep.MOST_LINES} lines" in plain(section.html)


def test_mean_over_targets_is_swept(make, make_estimate):
    def verdict(n, n_targets):
        metrics = {"accuracy": make_estimate(0.6), "accuracy_mean": make_estimate(0.9)}
        bounds = {"accuracy": 0.99, "accuracy_mean": 0.98}
        return make(audit=f"a@n={n}", n_targets=n_targets, metrics=metrics, bounds=bounds)

    (accuracy,) = charts([verdict(1, 5), verdict(2, 5)])
    assert accuracy.caption == "Accuracy with calibrated thresholds against n"
    assert [value for *_, value in drawn(accuracy, "measured")] == [0.9, 0.9]
    assert [value for *_, value in drawn(accuracy, "allowed")] == [0.98, 0.98]


def test_success_at_own_threshold_is_swept_where_known(make, make_estimate):
    metrics = {"accuracy_own": make_estimate(0.7), "accuracy_mean": make_estimate(0.9)}
    (accuracy,) = charts([make(audit=f"a@n={n}", metrics=metrics, bounds={"accuracy": 0.95}) for n in (1, 2)])
    assert [value for *_, value in drawn(accuracy, "measured")] == [0.7, 0.7]
    assert [value for *_, value in drawn(accuracy, "allowed")] == [0.95, 0.95]


def test_weak_promises_are_not_drawn(make):
    weak = {"epsilon": 38.0, "accuracy": 1 - 1e-13}
    (accuracy,) = charts([make(audit=f"a@n={n}", bounds=weak) for n in (1, 2)])
    assert drawn(accuracy, "allowed") == []
