"""Services that leak beside their answers: none is green, and a leak in every round is a violation."""

import threading

import numpy as np
import pytest

from domains.queries.remote.leaking_services import BESIDE, TOTAL
from domains.queries.remote.noisy_count_services import NoisyCounts
from domains.queries.remote.service_audits import audit_service
from leakgauge.core.errors import ReleaseLost
from leakgauge.domains.queries.remote.http_client import RateLimiter
from leakgauge.domains.queries.side_channels import _SAME, _as_in_the_first_round
from leakgauge.referee.side_channels import guessed_by

FIELDS = ["DebugField", "LengthGrows", "OpeningTells"]


def audited(kind, folder, **settings):
    if kind.__name__ == "FailsOnTheAbsent":
        settings["service"] = {"tries": 1}
    return audit_service(kind, folder, confidence=0.95, **settings)


@pytest.mark.parametrize("name", FIELDS)
def test_what_replies_hold_beside_the_answer_is_compared(tmp_path, name):
    done = audited(BESIDE[name], tmp_path)
    (verdict,) = done.verdicts
    assert (done.code, verdict["finding"]) == (1, "violated")
    said = {
        "DebugField": "The field debug.rows of a reply",
        "LengthGrows": "The spacing of the body of a reply",
        "OpeningTells": "The field records (opening of a round) of a reply",
    }
    assert any(line.startswith(said[name]) for line in verdict["evidence"])


OTHERS = {  # rounds, exit code, and what is said
    "SpendsAfterTheCheck": (16, 1, "different answers about one record were given."),
    "ExactAboveAHundred": (100, 1, "About all records 16 of 16 answers are exactly the true ones"),
    "ExactInTheMiddle": (100, 1, "About 30 records 16 of 16 answers are exactly the true ones"),
    "ZeroIsFree": (100, 3, "In a single session 12 different answers in all were given."),
    "AnswersInErrors": (50, 1, "different answers about one record were given."),
}


@pytest.mark.parametrize("name", OTHERS)
def test_questions_of_the_auditor_find_what_attacks_do_not_ask(tmp_path, name):
    rounds, code, said = OTHERS[name]
    done = audited(BESIDE[name], tmp_path, rounds=rounds)
    (verdict,) = done.verdicts
    assert done.code == code, done.printed
    assert any(said in line for line in verdict["evidence"]), verdict["evidence"]


def test_race_that_a_low_rate_leaves_out_is_named(tmp_path, monkeypatch):
    """Nothing is cleared then: the budget may be checked and spent apart."""
    monkeypatch.setattr(RateLimiter, "take", lambda limiter, stop: None)  # nobody waits here
    done = audited(NoisyCounts, tmp_path, rounds=100, service={"rate": 39.9})
    (verdict,) = done.verdicts
    assert done.code == 3
    assert verdict["unread"][0].startswith("what many questions at the same moment get (not tested")


def test_burst_counts_in_the_total_and_later_requests_keep_the_rate():
    clock = [0.0]
    limiter = RateLimiter(rate=50.0, total=45, clock=lambda: clock[0])
    with limiter.burst(40):
        for _ in range(40):
            limiter.take(threading.Event())
    assert (limiter.sent, clock[0]) == (40, 0.0)
    waited = []
    with pytest.raises(ReleaseLost):
        limiter.take(Waits(waited))
    assert waited == [pytest.approx(40 / 50)]


class Waits(threading.Event):
    """Keeps for how long somebody would have waited, and stops at once."""

    def __init__(self, waited):
        super().__init__()
        self.waited = waited

    def wait(self, timeout=None):
        self.waited.append(timeout)
        return True


@pytest.mark.parametrize("name", TOTAL)
def test_total_leak_is_a_violation_in_fifty_rounds(tmp_path, name):
    done = audited(TOTAL[name], tmp_path, rounds=50)
    assert (done.code, done.findings) == (1, {"violated"}), done.printed


class NumbersItsReplies(NoisyCounts):
    """Gives every reply a name of its own, which may mean anything."""

    def more(self, session, where):
        return {"id": f"reply-{self.seed}-{id(session)}-{session.n_answers}"}


class TellsItsNoise(NoisyCounts):
    """Adds a number that is noise by itself, and may be that of the answer."""

    def more(self, session, where):
        return {"offset": session.rng.normal()}


class EchoesTheQuestion(NoisyCounts):
    """Repeats the question, which depends on nobody."""

    def more(self, session, where):
        return {"query": where, "version": 3}


@pytest.mark.parametrize(("kind", "name"), [(NumbersItsReplies, "id"), (TellsItsNoise, "offset")])
def test_what_no_test_can_read_is_named(tmp_path, kind, name):
    done = audited(kind, tmp_path)
    (verdict,) = done.verdicts
    assert (done.code, verdict["unread"]) == (3, [f"the field {name} of a reply"])


def test_fields_that_depend_on_the_question_alone_are_read(tmp_path):
    done = audited(EchoesTheQuestion, tmp_path)
    (verdict,) = done.verdicts
    assert (done.code, verdict["unread"], verdict["finding"]) == (0, [], "not violated")


@pytest.mark.parametrize("epsilon", [0.5, 2.5])
def test_guesses_by_first_rounds_keep_their_error(epsilon):
    """Of fields that tell exactly as much as the promise allows at most one in 20 is found at error .05."""
    rng, found, n_audits = np.random.default_rng(1), 0, 1_000
    for _ in range(n_audits):
        members = rng.random(60) < 0.5
        lies = rng.random(60) > np.exp(epsilon) / (1 + np.exp(epsilon))
        values = np.where(lies, ~members, members).astype(float)[:, None]
        guesses = _as_in_the_first_round(values, np.zeros((60, 1), dtype=int), members)
        found += guessed_by(guesses.mean(axis=1) - _SAME, members, epsilon, 0.0).p_value <= 0.05
    assert found <= 0.05 * n_audits + 3 * np.sqrt(0.05 * 0.95 * n_audits)


def test_guess_depends_on_no_later_round():
    rng = np.random.default_rng(2)
    members, values = rng.random(40) < 0.5, rng.integers(0, 2, size=(40, 3)).astype(float)
    kinds = rng.integers(0, 2, size=(40, 3))
    guesses = _as_in_the_first_round(values, kinds, members)
    for n in range(1, 40):
        np.testing.assert_array_equal(_as_in_the_first_round(values[:n], kinds[:n], members[:n]), guesses[:n])
