from leakgauge.limits import Limits
from leakgauge.report.first_screen import CHART, MOST_ROWS, first_screen
from leakgauge.report.judged_run import JudgedRun
from leakgauge.summary import summarise_run


def opened(*verdicts, limits=None, **manifest):
    summary = summarise_run(verdicts, limits=limits or Limits())
    return first_screen(JudgedRun(verdicts, {"summary": summary, **manifest}))


def values(chart):
    return chart.spec["data"]["values"]


def right(make_estimate, value, low, high):
    return {"accuracy": make_estimate(value, low, high)}


def test_lamps_come_before_the_chart_and_the_steps(make, plain):
    text = plain(opened(make()).html)
    parts = ["Risk: how well", "correct identifications", "Promise: is the stated", "What to do next"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)


def test_there_is_one_chart_from_coin_toss_to_certainty(make):
    (chart,) = opened(make(), make(label="b")).charts
    assert chart.name == CHART
    scales = [layer["encoding"]["x"]["scale"]["domain"] for layer in chart.spec["layer"]]
    assert all(domain == [0.5, 1.0] for domain in scales)


def test_chart_holds_the_attackers_of_the_leading_audit_only(make, make_estimate):
    worse = make(audit="b", label="mine", metrics=right(make_estimate, 0.9, 0.88, 0.92))
    (chart,) = opened(make(audit="a", label="other"), worse).charts
    assert "mine" not in chart.alternative or "other" not in chart.alternative
    assert "90.0% (88.0% to 92.0%)" in chart.alternative
    assert "in audit b" in chart.caption


def test_meaningless_intervals_are_not_drawn(make, make_estimate):
    (chart,) = opened(make(metrics=right(make_estimate, 0.9, 0.0, 1.0))).charts
    (row,) = values(chart)
    assert (row["low"], row["high"]) == (None, None)
    assert "interval too wide" in chart.alternative


def test_values_below_chance_are_drawn_at_the_edge(make, make_estimate):
    (chart,) = opened(make(metrics=right(make_estimate, 0.42, 0.4, 0.55))).charts
    (row,) = values(chart)
    assert (row["value"], row["low"], row["high"]) == (0.5, 0.5, 0.55)


def test_own_limit_and_promise_are_drawn_if_they_limit_something(make):
    keys = {key.label for key in opened(make(), limits=Limits(metrics={"accuracy": 0.6})).charts[0].keys}
    assert {"your limit (60%)", "most the promise allows (73.1%)"} <= keys
    weak = make(bounds={"epsilon": 38.0, "accuracy": 1 - 1e-13})
    assert not any("promise" in key.label for key in opened(weak).charts[0].keys)


def test_limit_is_drawn_only_for_attackers_that_count(make, make_estimate):
    limits = Limits(metrics={"accuracy": 0.6}, attackers=("informed",))
    verdicts = [
        make(
            domain="locations", label="in", knowledge="informed", metrics=right(make_estimate, 0.7, 0.6, 0.8)
        ),
        make(
            domain="locations", label="zero", knowledge="zero", metrics=right(make_estimate, 0.9, 0.8, 0.95)
        ),
    ]
    (chart,) = opened(*verdicts, limits=limits).charts
    first, second = values(chart)
    assert (first["kind"], first["value"]) == (
        "correct identifications",
        0.7,
    )  # the one that counts comes first
    assert second["kind"] == "correct identifications, not counted by your limit"
    ticks = [layer for layer in chart.spec["layer"] if layer["mark"]["type"] == "tick"]
    assert len(ticks) == 1
    assert {"filter": "datum.kind === 'correct identifications'"} in ticks[0]["transform"]
    assert chart.alternative.count("not counted by your limit") == 1
    assert "your limit (60%), for attackers that count" in {key.label for key in chart.keys}
    everybody = opened(*verdicts, limits=Limits(metrics={"accuracy": 0.6})).charts[0]
    assert not any(layer["mark"]["type"] == "tick" for layer in everybody.spec["layer"])
    assert "not counted" not in everybody.alternative


def test_limit_is_not_drawn_for_a_control(make, make_estimate):
    blind = {"domain": "models", "label": "c", "knowledge": "blind"}
    control = make(**blind, metrics=right(make_estimate, 0.5, 0.45, 0.55))
    attacker = make(domain="models", label="a", knowledge="black_box")
    (chart,) = opened(attacker, control, limits=Limits(metrics={"accuracy": 0.6})).charts
    assert any(layer["mark"]["type"] == "tick" for layer in chart.spec["layer"])
    assert "not counted" not in chart.alternative


def test_many_attackers_are_cut_but_the_control_stays(make, make_estimate):
    many = [
        make(
            domain="models",
            label=f"n{n}",
            knowledge="black_box",
            metrics=right(make_estimate, 0.6 + n / 50, 0.55, 0.9),
        )
        for n in range(9)
    ]
    control = make(
        domain="models", label="c", knowledge="blind", metrics=right(make_estimate, 0.5, 0.45, 0.55)
    )
    (chart,) = opened(*many, control).charts
    assert len(values(chart)) == MOST_ROWS
    assert "control" in chart.alternative
    assert "4 more attackers in the appendix" in chart.caption


def test_run_without_numbers_has_no_chart(make, make_estimate, plain):
    section = opened(make(metrics={"accuracy": make_estimate(None)}))
    assert section.charts == ()
    assert "Risk not measured" in plain(section.html)
