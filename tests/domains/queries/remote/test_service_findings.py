"""Audits find what is wrong with a service, and do not accuse one that does what is stated."""

from itertools import chain, combinations

import pytest

from domains.queries.remote.noisy_count_services import BROKEN, CORRECT, REPEATING
from domains.queries.remote.service_audits import audit_service
from night import others_at_night

N_AUDITS = 60  # of correct services, at confidence 0.999


AT_NIGHT = {
    "FailsWithTarget",
    "SlowWithTarget",
    "RefusesSmallCounts",
    "CachesByTrueAnswer",
    "WholeCachedByTrueAnswer",
    "LittleNoiseCachedByTrueAnswer",
    "SharesAnswersByTrueAnswer",
    "TakesNoiseAwayAgain",
    "WholeNoiseTakenAway",
    "SomeAnswersExact",
    "BoundsTheNoise",
    "HalvesTheNoiseLater",
    "RestartsTheNoise",
}


@pytest.mark.parametrize("name", others_at_night(BROKEN, *(name for name in BROKEN if name not in AT_NIGHT)))
def test_broken_service_is_found(tmp_path, name):
    done = audit_service(BROKEN[name], tmp_path)
    assert "violated" in done.findings, (done.verdicts, done.printed)
    assert done.code == 1
    assert done.service.sessions == {}  # all were closed


@pytest.mark.parametrize("name", others_at_night(CORRECT, "NoisyCounts", "RoundsAndClamps", "MoreNoise"))
def test_correct_service_is_not_accused(tmp_path, name):
    done = audit_service(CORRECT[name], tmp_path)
    assert done.findings == {"not violated"}, (done.verdicts, done.printed)
    about = {verdict.get("about") for verdict in done.verdicts}
    assert about == ({"mechanism"} if name == "MoreNoise" else {None})
    assert done.code == (3 if name == "MoreNoise" else 0)


@pytest.mark.parametrize("name", ["TakesNoiseAwayAgain", "WholeNoiseTakenAway"])
def test_noise_that_cancels_is_certain(tmp_path, name):
    (verdict,) = audit_service(BROKEN[name], tmp_path, rounds=60).verdicts
    assert (verdict["finding"], verdict["certain"], verdict["about"]) == ("violated", True, None)
    assert verdict["evidence"][0].startswith("The noise of two answers cancels (")


# -- answers that are repeated

TARGET, RECORDS = 0, (0, 1, 2)
QUESTIONS = [frozenset(one) for one in chain(*(combinations(RECORDS, n) for n in range(1, 4)))]
PAIR = frozenset({TARGET, 1}), frozenset({1})
KEY_OF = {  # what decides whether an answer is repeated: of the question, and the records in the table
    "NoisyCounts": lambda question, table: question,
    "RepeatsFirstAnswer": lambda question, table: None,
    "CachesByTrueAnswer": lambda question, table: len(question & table),
    "CachesBySelectedRows": lambda question, table: question & table,
}


def equal_answers(key_of, questions, table):
    """Which pairs of questions get the same answer: all that repetition adds to the answers themselves."""
    return [key_of(one, table) == key_of(other, table) for one, other in combinations(questions, 2)]


@pytest.mark.parametrize("name", KEY_OF)
def test_repetition_tells_the_target_exactly_where_one_pair_of_questions_shows_it(name):
    """By enumeration of all questions about three records: a pair with and without the target is enough."""
    present, absent = frozenset(RECORDS), frozenset(RECORDS) - {TARGET}
    tells = equal_answers(KEY_OF[name], QUESTIONS, present) != equal_answers(KEY_OF[name], QUESTIONS, absent)
    shows = equal_answers(KEY_OF[name], PAIR, present) != equal_answers(KEY_OF[name], PAIR, absent)
    assert tells == shows == (name in BROKEN)


@pytest.mark.parametrize("name", others_at_night(REPEATING, "RepeatsFirstAnswer"))
def test_repeated_answers_that_tell_nothing_are_no_violation(tmp_path, name):
    done = audit_service(REPEATING[name], tmp_path)
    (verdict,) = done.verdicts
    expected = ("not violated", "mechanism") if name == "RepeatsNowAndThen" else ("untestable", None)
    assert (verdict["finding"], verdict["about"]) == expected, (verdict, done.printed)
    assert done.code == 3


@pytest.mark.parametrize("name", others_at_night(["CachesByTrueAnswer", "CachesBySelectedRows"]))
def test_repeated_answers_that_tell_the_target_are_named(tmp_path, name):
    """Also where an attack asks the same question again and again, and so gets one answer anyway."""
    for attack in ("split_likelihood", "repeat"):
        folder = tmp_path / attack
        folder.mkdir()
        done = audit_service(BROKEN[name], folder, attacks=[{"name": attack, "queries": 4}])
        (verdict,) = done.verdicts
        assert verdict["finding"] == "violated"
        assert any("A cache must look at questions only" in said for said in verdict["evidence"])


@pytest.mark.parametrize("name", others_at_night(["NoNoise", "AnswersOn", "NoisyCounts"], "NoisyCounts"))
def test_with_positive_control(tmp_path, name):
    """The positive control asks other questions, and changes no finding."""
    done = audit_service((CORRECT | BROKEN)[name], tmp_path, control="absent")
    assert {verdict["instrument"]["control"]["status"] for verdict in done.verdicts} == {"passed"}
    assert done.findings == ({"violated"} if name in BROKEN else {"not violated"})


@pytest.mark.nightly
def test_correct_services_are_hardly_ever_accused(tmp_path):
    """Of 60 audits at confidence 0.999 at most one is wrong."""
    accused = []
    for i in range(N_AUDITS):
        name = list(CORRECT)[i % len(CORRECT)]
        folder = tmp_path / str(i)
        folder.mkdir()
        done = audit_service(CORRECT[name], folder, seed=100 + i)
        assert done.verdicts, done.printed
        if "violated" in done.findings:
            accused.append((name, [verdict["evidence"] for verdict in done.verdicts]))
    assert len(accused) <= 1, accused
