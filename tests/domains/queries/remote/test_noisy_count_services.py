"""The services that audits are tried on do what their descriptions say."""

import json
import math
import urllib.error
import urllib.request

import numpy as np
import pytest

from domains.queries.remote.noisy_count_services import (
    BROKEN,
    CORRECT,
    EPSILON,
    N_ANSWERS,
    TARGET,
    ChargesPresentRows,
    FailsWithTarget,
    LowBitsTell,
    NoisyCounts,
    RedrawsForFree,
    Refused,
    ServerError,
    ZeroConcentrated,
    served,
    write_people,
)

BOTH = f"id IN ({TARGET}, 3)"


@pytest.fixture
def make(tmp_path):
    write_people(tmp_path / "people.csv")
    return lambda kind: kind(tmp_path / "people.csv", seed=1)


def session(service, absent=()):
    _, opened = service.open({"absent": list(absent)})
    return service.sessions[opened["round"]]


def n_answered(service, most=200):
    one = session(service)
    for i in range(most):
        try:
            service.answer(one, f"id IN ({TARGET}, 3) AND age <> {1000 + i}")
        except Refused:
            return i
    return most


def residuals(service, n=4000):
    """Noise of the first answer of many sessions, half of them without the target."""
    found = []
    for i in range(n):
        absent = (TARGET,) if i % 2 else ()
        found.append(service.answer(session(service, absent), "id > 10") - (109 - i % 2))
    return np.array(found)


def test_there_are_enough_of_them():
    assert len(CORRECT) >= 6
    assert len(BROKEN) >= 12
    assert all(kind.__doc__ for kind in (*CORRECT.values(), *BROKEN.values()))


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *((name, N_ANSWERS) for name in CORRECT if name not in ("ZeroConcentrated", "BetterCache")),
        ("ThreeAnswersTooMany", N_ANSWERS + 3),
        ("AnswersOn", 200),
    ],
)
def test_budget(make, name, n):
    assert n_answered(make((CORRECT | BROKEN)[name])) == n


def test_zero_concentrated_accountant_answers_beyond_the_sum_and_keeps_its_promise(make):
    """The exact epsilon of n Gaussian answers (Balle and Wang 2018) is below the promise, the sum above."""
    service = make(ZeroConcentrated)
    n = n_answered(service)
    mu = math.sqrt(n) / service.scale

    def delta(epsilon):
        def phi(x):
            return math.erfc(-x / math.sqrt(2)) / 2

        return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)

    assert n > 4 * N_ANSWERS
    assert delta(service.promise) <= service.delta


@pytest.mark.parametrize(
    ("name", "scale"),
    [("NoisyCounts", 1.0), ("MoreNoise", 1.5), ("TooLittleNoise", 0.8), ("HalfTheNoise", 0.5)],
)
def test_scale_of_noise(make, name, scale):
    """The mean absolute deviation of Laplace noise is its scale."""
    found = np.abs(residuals(make((CORRECT | BROKEN)[name])))
    assert abs(found.mean() * EPSILON - scale) < 4 * scale / math.sqrt(len(found))


@pytest.mark.parametrize("name", ["NoNoise", "ClampsTheNoiseAway"])
def test_true_counts(make, name):
    assert (residuals(make(BROKEN[name]), 50) == 0).all()


@pytest.mark.parametrize("name", ["SharesNoiseBetweenSessions", "SeedsNoiseByQuestion"])
def test_noise_of_sessions_is_the_same(make, name):
    assert np.ptp(residuals(make(BROKEN[name]), 50)) == 0


def test_low_bits_tell(make):
    """More than 24 significant bits occur only where the target is in."""

    def long(absent):
        answers = [service.answer(session(service, absent), f"id = {TARGET}") for _ in range(400)]
        return np.mean([answer != float(np.float32(answer)) for answer in answers])

    service = make(LowBitsTell)
    assert long((TARGET,)) == 0
    assert long(()) > 0.4


def test_refusals_of_present_rows(make):
    service = make(ChargesPresentRows)
    for absent, refused in (((), True), ((TARGET,), False)):
        one = session(service, absent)
        questions = [f"id IN ({TARGET}, {other})" for other in range(20, 20 + N_ANSWERS + 1)]
        for question in questions[:-1]:
            service.answer(one, question)
        if refused:
            with pytest.raises(Refused):
                service.answer(one, questions[-1])
        else:
            service.answer(one, questions[-1])


def test_repeated_question_is_redrawn_for_free(make):
    service = make(RedrawsForFree)
    one = session(service)
    assert len({service.answer(one, BOTH) for _ in range(30)}) == 30
    assert service.spent(one) == EPSILON


def test_errors_only_with_target(make):
    service = make(FailsWithTarget)

    def n_errors(absent):
        n = 0
        for _ in range(100):
            try:
                service.answer(session(service, absent), BOTH)
            except ServerError:
                n += 1
        return n

    assert n_errors((TARGET,)) == 0
    assert 25 < n_errors(()) < 75


def test_over_http(make):
    """The same request gets the same reply and is charged once; what is spent is said in body and header."""
    service = make(NoisyCounts)

    def send(path, body, method="POST"):
        request = urllib.request.Request(url + path, json.dumps(body).encode(), method=method)
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.loads(reply.read() or "{}"), reply.headers["X-Spent"]
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), error.headers["X-Spent"]

    with served(service) as url:
        name = send("/rounds", {"absent": [TARGET]})[1]["round"]
        first, again = (send(f"/rounds/{name}/ask", {"ids": [3, TARGET], "request": "a"}) for _ in range(2))
        assert first == again
        assert (first[0], first[1]["spent"], first[2]) == (200, EPSILON, "0.25")
        for i in range(N_ANSWERS):
            last = send(f"/rounds/{name}/ask", {"where": f"id = {i}", "request": str(i)})
        assert (last[0], last[1]["spent"]) == (403, EPSILON * N_ANSWERS)
        assert send(f"/rounds/{name}", None, "DELETE")[0] == 204
        assert send(f"/rounds/{name}/ask", {"where": "id = 1", "request": "z"})[0] == 404
