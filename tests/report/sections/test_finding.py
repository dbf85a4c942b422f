import pytest

from leakgauge.report.run_report import JudgedRun
from leakgauge.report.sections import finding


@pytest.fixture
def read(plain):
    return lambda *verdicts: plain(finding.section(JudgedRun(verdicts, {})).html)


def test_violation_names_exceeded_bound_and_size(make, read):
    text = read(make("violated"))
    assert (
        "exceeds what is allowed in: ε, accuracy, AUC, hits at 10% false alarms, hits at 1% false alarms."
        in text
    )
    assert "ε ≥ 1.43" in text
    assert "ε = 1 for one person" in text
    assert "Right guesses 86.4% (84.9% to 88.0%) Right guesses allowed 73.1%" in text


def test_promise_is_explained_in_words(make, read):
    text = read(make())
    assert "shifts the odds of that guess by at most a factor of 2.72" in text
    assert "no adversary should be right more than 73.1% of the time" in text


def test_huge_epsilon_is_called_no_promise(make, read):
    assert "is next to none" in read(make(promised={"epsilon": 2207.0, "delta": 0.0}))


def test_strongest_and_weakest_promise_are_explained(make, read):
    weak = make(promised={"epsilon": 2207.0, "delta": 0.0})
    for text in (read(weak, make()), read(make(), weak)):
        assert "shifts the odds of that guess by at most a factor of 2.72" in text
        assert "ε = 2,207 is next to none" in text
        assert "more than 100%" not in text


def test_undecided_gives_rounds_needed(make, read):
    assert "20 rounds cannot decide" in read(make("undecided"))
    assert "At least 66,048 rounds would be needed." in read(make("undecided"))
    assert "no number of rounds would do" in read(make("undecided", rounds_needed=None))


def test_group_promise_is_called_inconclusive(make, read):
    promised = {"epsilon": 5e7, "delta": 1e-5, "relation": "replace_one", "unit": "group"}
    text = read(make("undecided", promised=promised, rounds_needed=None))
    assert "ε = 50,000,000 to all records of a release together is next to none" in text
    assert "Nothing can decide here" in text
    assert "rounds would do" not in text
    few = read(make("undecided", promised=promised | {"epsilon": 5.0}, rounds_needed=500))
    assert "At least 500 rounds would be needed." in few


def test_single_release_compares_epsilon_only(make, read):
    text = read(make("violated", rounds=1, n_targets=400))
    assert "It exceeds what is allowed in: ε." in text


def test_missing_promise_has_no_comparison(make, read):
    text = read(make("unpromised"))
    assert "no promise to compare with" in text
    assert "Promised nothing" in text
    assert "A promise of" not in text


def test_early_stop_is_mentioned(make, read):
    assert "Play ended as soon as that was shown." in read(make("violated", stopped_early=True))


def test_unavailable_estimate_is_not_zero(make, make_estimate, read):
    text = read(
        make(metrics={"epsilon": make_estimate(None, reason="given coins"), "accuracy": make_estimate(None)})
    )
    assert "cannot be said" in text
    assert "Right guesses" not in text


def test_many_verdicts_become_a_table(make, read):
    verdicts = [make(audit=f"a{n}") for n in range(9)] + [make("violated", audit="bad")]
    text = read(*verdicts)
    assert text.index("bad · learned-event") < text.index("a0 · likelihood")
    assert "a8 likelihood-auxiliary Not violated ≥ 0.765 1" in text
    assert "bad learned-event Violated ≥ 1.43 1" in text


def test_nothing_is_ever_called_private(every_kind, read):
    assert "private" not in read(*every_kind).lower()


def test_card_shows_mean_over_targets(make, make_estimate, read):
    metrics = {"accuracy": make_estimate(0.6, 0.5, 0.7), "accuracy_mean": make_estimate(0.9, 0.8, 0.95)}
    bounds = {"accuracy": 0.99, "accuracy_mean": 0.98}
    text = read(make(n_targets=5, metrics=metrics, bounds=bounds))
    assert "Right guesses on average over the targets 90.0% (80.0% to 95.0%)" in text
    assert "Right guesses allowed 98.0%" in text
    assert "60.0%" not in text
