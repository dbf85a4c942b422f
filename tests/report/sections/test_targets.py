from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import targets


def rows(chart):
    return chart.spec["data"]["values"]


def test_most_exposed_targets_come_first_without_names(make, plain):
    verdict = make("many targets", n_targets=50)
    section = targets.section(JudgedRun([verdict], {}))
    (chart,) = section.charts
    by_auc = sorted(verdict.per_target, key=lambda row: -row["metrics"]["auc"])
    assert [row["label"] for row in rows(chart)] == [f"target {row['target']}" for row in by_auc[:10]]
    which = "the 10 most exposed of 50 targets"
    assert chart.caption == f"Accuracy with a calibrated threshold of shared-rounds against {which}"
    assert "partly chance" in plain(section.html)


def test_targets_are_compared_at_the_own_threshold_of_the_attack(make):
    per_target = [
        {"target": n, "metrics": {"accuracy_own": own, "accuracy": 0.9, "auc": 0.95}}
        for n, own in enumerate((0.6, 0.7))
    ]
    (chart,) = targets.section(JudgedRun([make(n_targets=2, per_target=per_target)], {})).charts
    assert [(row["label"], row["value"]) for row in rows(chart)] == [("target 1", 0.7), ("target 0", 0.6)]
    assert chart.caption.startswith("Correct identifications of")


def test_intervals_are_drawn(make, make_estimate):
    rich = make_estimate(0.9, 0.8, 0.95)
    per_target = [
        {"target": 0, "metrics": {"accuracy": rich}},
        {"target": 1, "metrics": {"accuracy": vars(rich)}},
    ]
    (chart,) = targets.section(JudgedRun([make(n_targets=2, per_target=per_target)], {})).charts
    assert [(row["low"], row["high"], row["shown"]) for row in rows(chart)] == [
        (0.8, 0.95, "90.0% (80.0% to 95.0%)")
    ] * 2


def test_no_section_for_single_or_unknown_targets(make):
    unknown = [{"target": 0, "metrics": {"auc": None}}, {"target": 1, "metrics": {}}]
    for verdict in (make(), make(n_targets=5), make(n_targets=2, per_target=unknown)):
        assert targets.section(JudgedRun([verdict], {})) is None


def test_strongest_attacker_is_drawn_and_no_control(make):
    def rows_of(auc):
        return [{"target": n, "metrics": {"auc": auc}} for n in range(2)]

    weak, strong, control = (
        make(domain="models", knowledge=knowledge, label=label, n_targets=2, per_target=rows_of(auc))
        for label, knowledge, auc in (("w", "black_box", 0.6), ("s", "black_box", 0.8), ("c", "blind", 0.9))
    )
    (chart,) = targets.section(JudgedRun([weak, strong, control], {})).charts
    assert chart.caption == "AUC of s against all 2 targets"
