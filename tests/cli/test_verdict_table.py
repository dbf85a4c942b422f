import re
from dataclasses import replace

import numpy as np
import pytest

from leakgauge.cli import verdict_table as shown
from leakgauge.limits import Limits
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import instrument
from leakgauge.report.text_formats import table_cells
from leakgauge.risk import RiskStatus
from leakgauge.runner.in_memory import judge
from leakgauge.summary import RunResult, summarise_run
from leakgauge.verdict import Finding


@pytest.fixture(scope="module")
def verdict():
    rng = np.random.default_rng(1)
    members = rng.random(500) < 0.5
    return judge(members, members + rng.normal(size=500), epsilon=1.0, coins="fair")


def print_table(*verdicts):
    shown.print_table(RunResult(verdicts, summarise_run(verdicts)))


def test_worst_verdicts_come_first_and_table_is_truncated(verdict, capsys):
    many = [replace(verdict, label=f"kept-{n}", finding=Finding.NOT_VIOLATED) for n in range(60)]
    worst = replace(verdict, label="the-worst", finding=Finding.VIOLATED)
    print_table(*many, worst)
    out = capsys.readouterr().out
    assert "\nPromise broken\n" in out
    rows = [line.split()[0] for line in out.splitlines() if "violated  " in line]
    assert rows[0] == "the-worst"
    assert len(rows) == shown.MOST_TABLE_ROWS
    assert "and 21 more" in out


def test_insensitive_instrument_is_reported(verdict, capsys):
    blind = {"null": {"rate": 0.0, "low": 0.0, "high": 0.02}, "planted": {"epsilon": None}}
    print_table(verdict, replace(verdict, label="blind", instrument=blind))
    assert "smallest ε it could have detected: none at these rounds." in capsys.readouterr().out


def test_smallest_leak_is_rounded_up_as_in_the_report(verdict, capsys):
    planted = {"epsilon": 0.07912, "violating_epsilon": 1.2, "found": 0.8, "draws": 200}
    found = replace(verdict, instrument={**verdict.instrument, "planted": planted})
    print_table(found)
    assert "smallest ε it could have detected: 0.0792." in capsys.readouterr().out
    assert "0.0792" in instrument.section(JudgedRun([found], {})).html


def test_untestable_promise_is_reported(verdict, capsys):
    print_table(replace(verdict, finding=Finding.UNDECIDED, rounds_needed=None))
    out = capsys.readouterr().out
    assert "Promise too weak to protect" in out
    assert "even certain identification would not violate it" in out


def test_names_are_escaped(verdict, capsys):
    print_table(replace(verdict, label="[bold]x[/bold]"))
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_shows_means_over_several_targets(verdict, capsys):
    known = verdict.metrics
    metrics = known | {
        "accuracy_mean": replace(known["accuracy"], value=0.93, low=0.91, high=0.95),
        "auc_mean": replace(known["auc"], value=0.97, low=0.961, high=0.979),
    }
    several = replace(verdict, n_targets=5, metrics=metrics)
    print_table(several)
    out = capsys.readouterr().out
    assert "93.0% (91.0% to 95.0%)   0.970" in out
    assert "Correct: how often the attacker is right, at a threshold calibrated on other releases; AUC" in out
    assert "*" not in out  # nothing to tell apart


def test_leads_with_the_own_threshold_and_the_most_exposed_target(verdict, capsys):
    known = verdict.metrics
    metrics = known | {
        "accuracy_own": replace(known["accuracy"], value=0.81, low=0.79, high=0.83),
        "accuracy_worst": replace(known["accuracy"], value=0.97, low=0.85, high=0.99),
    }
    print_table(replace(verdict, n_targets=5, metrics=metrics))
    out = capsys.readouterr().out
    assert "81.0% (79.0% to 83.0%)   97.0% (85.0% to 99.0%)" in out
    assert "right, on average over targets, at the threshold that the attack fixed itself; most" in out
    assert "; most exposed: the same for the target" in out
    print_table(replace(verdict, n_targets=1, metrics=metrics))
    assert "most exposed" not in capsys.readouterr().out


def test_star_is_explained_and_a_column_that_is_missing_is_not(verdict, capsys, monkeypatch):
    own = verdict.metrics | {"accuracy_own": replace(verdict.metrics["accuracy"], value=0.81)}
    print_table(verdict, replace(verdict, label="own", metrics=own))
    out = capsys.readouterr().out
    assert out.count("%*") == 1
    assert "where it fixed none (*), at one calibrated on other releases; best threshold: the same at" in out
    monkeypatch.setattr(shown, "_WIDE_TERMINAL", 1_000)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    print_table(verdict)
    assert "AUC" not in capsys.readouterr().out


def test_report_is_mentioned_where_there_is_one(verdict, capsys):
    result = RunResult((verdict,), summarise_run([verdict]))
    shown.print_table(result)
    assert "All intervals are in the report." in capsys.readouterr().out
    shown.print_table(result, report=False)
    assert "report" not in capsys.readouterr().out


def test_row_uses_the_words_of_the_report(verdict, capsys):
    weak = replace(verdict, finding=Finding.UNDECIDED, rounds_needed=None, bounds={"accuracy": 1.0})
    print_table(weak)
    assert "undecided, too weak" in capsys.readouterr().out
    assert table_cells(weak)[0] == "undecided, too weak"


def test_missing_epsilon_bound_is_not_called_too_few_rounds(verdict, capsys):
    none = replace(verdict.metrics["epsilon"], value=None, low=None, high=None, reason="given")
    given = replace(
        verdict,
        label="given",
        metrics=verdict.metrics | {"epsilon": none},
        instrument=verdict.instrument | {"planted": {"epsilon": None}},
    )
    print_table(verdict, given)
    out = capsys.readouterr().out
    assert "none at these rounds" not in out
    assert "(where there is a bound on ε)." in out
    print_table(given)
    assert "could have detected: none, without a bound on ε." in capsys.readouterr().out


def test_a_weak_promise_is_never_good_news(verdict, capsys):
    promised = {**(verdict.promised or {}), "epsilon": 24_026.0, "unit": "group"}
    weak = replace(verdict, label="weak", finding=Finding.UNDECIDED, promised=promised, rounds_needed=None)
    weak = replace(weak, bounds={**weak.bounds, "accuracy": 1.0})
    print_table(weak, replace(verdict, finding=Finding.NOT_VIOLATED))
    out = " ".join(capsys.readouterr().out.split())
    assert "Promise too weak to protect The promise to all records of a release together is so weak" in out


@pytest.mark.parametrize(
    ("finding", "status", "said"),
    [
        (
            Finding.NOT_VIOLATED,
            "no limit",
            "no attack tried violated the promise, and no limit on the risk was",
        ),
        (
            Finding.NOT_VIOLATED,
            "within",
            "no attack tried violated the promise, and the risk is within the limits for the attackers",
        ),
        (None, "within", "nothing was promised, and the risk is within the limits for the attackers tried."),
        (Finding.UNDECIDED, "within", "the promise was too weak to test, and the risk is within the limits"),
    ],
)
def test_exit_code_0_comes_with_one_sentence_that_says_what_was_answered(
    verdict, capsys, finding, status, said
):
    promised = None if finding is None else verdict.promised
    risk = replace(verdict.risk, status=RiskStatus(status), scope="the attackers tried")
    found = replace(verdict, finding=finding, promised=promised, risk=risk, rounds_needed=None)
    limits = Limits(metrics={"accuracy": 0.9}) if status == "within" else Limits()
    result = RunResult((found,), summarise_run([found], limits=limits))
    assert result.summary.exit_code == 0
    for write in (shown.print_table, shown.print_answers):
        write(result)
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith(f"Exit code 0: {said}")
        assert not {"safe", "private"} & set(last.split())


def test_other_exit_codes_have_their_reasons_only(verdict, capsys):
    print_table(replace(verdict, finding=Finding.VIOLATED))
    assert "Exit code 0" not in capsys.readouterr().out


def test_utility_of_a_sweep_fits_80_columns(verdict, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    names = ("mean_absolute_error", "relative_error", "visits_published", "cells_suppressed")
    names += ("top_places", "space_distance", "time_distance")
    points = [
        replace(verdict, domain="locations", audit=f"town@epsilon={n}", utility=dict.fromkeys(names, 0.0123))
        for n in (0.05, 0.25)
    ]
    print_table(*points)
    out = capsys.readouterr().out
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
    head = next(place for place, line in enumerate(lines) if "utility of" in line)
    table = lines[head - 4 : head + 4]
    assert max(map(len, table)) <= 80
    for word in ("published", "suppressed", "epsilon=0.05", "epsilon=0.25"):
        assert any(word in line for line in table), (word, table)
    assert sum(line.count("0.0123") + line.count("1.2%") for line in table) == 14


def test_no_advice_only_where_every_promise_is_too_weak(verdict):
    usual = replace(verdict, finding=Finding.UNDECIDED)
    weak = replace(usual, promised={**verdict.promised, "epsilon": 666.0})
    assert shown._undecided_note([weak, weak]) == ""
    assert shown._undecided_note([weak, usual]) != ""
