from leakgauge.report.judged_run import by_audit, most_severe, omission_note, severest_first


def test_violations_survive_truncation_in_plan_order(make, make_estimate):
    weak = [make(audit=f"a{n}", metrics={"epsilon": make_estimate(n, n / 10)}) for n in range(5)]
    verdicts = [*weak[:3], make("violated", audit="v"), *weak[3:]]
    assert [verdict.audit for verdict in most_severe(verdicts, 3)] == ["v", "a3", "a4"]
    assert most_severe(verdicts, 99) == verdicts


def test_worst_verdict_comes_first(make):
    verdicts = [make(), make("unpromised"), make("undecided"), make("violated")]
    assert [verdict.label for verdict in severest_first(verdicts)] == [
        "learned-event",
        "one-threshold",
        "scores",
        "likelihood-auxiliary",
    ]


def test_estimate_without_lower_end_has_no_weight(make, make_estimate):
    blind, seeing = make(metrics={"epsilon": make_estimate(9.0)}), make(label="seeing")
    assert severest_first([blind, seeing]) == [seeing, blind]


def test_audits_are_grouped_in_order(make):
    first, second, third = make(audit="b"), make(audit="a"), make(audit="b", label="other")
    assert by_audit([first, second, third]) == {"b": [first, third], "a": [second]}


def test_omitted_verdicts_are_counted():
    assert omission_note(3, 3, "curves") == ""
    assert "3 most important of 4 curves" in omission_note(3, 4, "curves")
