import pytest

from leakgauge.report.answers import finding_words
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import finding
from leakgauge.verdict import Finding


@pytest.fixture
def read(plain):
    return lambda *verdicts: plain(finding.section(JudgedRun(verdicts, {})).html)


def test_violation_names_exceeded_bounds(make, read):
    text = read(make("violated"))
    assert "It exceeds what is allowed in: ε; accuracy with a calibrated threshold; AUC" in text
    assert "learned-event neighbours Violated no limit 86.4% (84.9% to 88.0%) ≥ 1.43 1" in text


def test_clue_of_a_violation_is_named(make, read):
    assert "Clue used: the first bit." in read(make("violated", event="the first bit"))
    assert "Clue used" not in read(make(event="the first bit"))


def test_undecided_gives_releases_needed(make, read):
    text = read(make("undecided"))
    assert "20 simulated releases cannot decide; at least 66,048 simulated releases are needed." in text
    never = read(make("undecided", rounds_needed=None))
    assert "More simulated releases cannot help: the promise allows any success rate." in never


def test_group_promise_allows_any_success(make, read):
    promised = {"epsilon": 5e7, "delta": 1e-5, "relation": "replace_one", "unit": "group"}
    text = read(make("undecided", promised=promised, rounds_needed=None))
    assert "the promise to all records of a release together allows any success rate" in text


def test_single_release_compares_epsilon_only(make, read):
    assert "It exceeds what is allowed in: ε." in read(make("violated", rounds=1, n_targets=400))


def test_missing_promise_has_no_comparison(make, read):
    text = read(make("unpromised"))
    assert "There is no promise to compare with." in text
    assert "No promise" in text


def test_untestable_audit_says_so(make, read):
    assert "identified nobody even in the positive control" in read(make(finding=Finding.UNTESTABLE))


def test_early_stop_is_mentioned(make, read):
    assert "stopped as soon as that was shown" in read(make("violated", stopped_early=True))


def test_unavailable_estimate_is_not_zero(make, make_estimate, read):
    nothing = {"epsilon": make_estimate(None, reason="given coins"), "accuracy": make_estimate(None)}
    assert "no limit – – 1" in read(make(metrics=nothing))


def test_each_explanation_is_given_once(make, read):
    text = read(*(make(audit=f"a{n}") for n in range(9)), make("violated", audit="bad"))
    assert text.count("This attack stayed within the promise (2,000 simulated releases).") == 1
    assert "a3 · likelihood-auxiliary and 5 more" in text


@pytest.mark.parametrize(
    ("allowed", "tone", "words"),
    [
        (0.7, "good", "not violated"),
        (0.8, "warn", "not violated, weak"),
        (0.95, "bad", "not violated, too weak"),
    ],
)
def test_weak_promise_is_never_green(make, allowed, tone, words):
    assert finding_words(make(bounds={"accuracy": allowed})) == (tone, words)


def test_control_has_no_risk(make, read):
    assert "control: attacker who never sees the model" in read(make(domain="models", knowledge="blind"))
    assert "Not violated control 70.1%" in read(make(domain="models", knowledge="blind"))


def test_nothing_is_ever_called_private(every_kind, read):
    assert "private" not in read(*every_kind).lower()


def test_one_release_is_not_called_simulated(make, read):
    one = read(make("not violated", rounds=1))
    assert "Each attacker sees the release, and says of every target" in one
    assert "(one release)" in one
    assert "simulated" not in one
    assert "many simulated releases" in read(make("not violated"))
