"""Blocks at a service: rounds are complete, counted locally, and closed; rate and total are kept."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from domains.queries.remote.faulty_service import WITHOUT_KEY, adapter, drop, oracle, reply, running
from domains.queries.small_table import game, table
from domains.queries.small_table import oracle as local
from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import Adversary, Scorer
from leakgauge.domains.queries.knowledge import build as know
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.remote.auditor_questions import APART, question_pair
from leakgauge.domains.queries.remote.http_client import RateLimiter
from leakgauge.domains.queries.remote.plan_tables import AskRequest, RefusalRule
from leakgauge.domains.queries.service.server import service_rounds
from leakgauge.runner import play_block
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.play_block import PlayBlock

WITHOUT_KEYS = {
    "open": {"path": "/rounds", "json": {"absent": "{absent}"}},
    "ask": {"path": WITHOUT_KEY.path, "json": WITHOUT_KEY.json},
}
BLOCK = RoundBlock(0, range(8))


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(play_block, "RETRY_SECONDS", (0.01, 0.02, 0.03, 0.04))


class Asker:
    """An attack that asks, and keeps what it got in the last block that it scored to the end."""

    def __init__(self, n, query=lambda i: Query(ids=(i, 500))):
        self.n, self.query, self.answers, self.begun = n, query, None, 0

    def __call__(self, view, rng):
        self.begun += 1
        asked = view.oracle()
        self.answers = np.column_stack([asked.ask(self.query(i)) for i in range(self.n)])
        return np.nan_to_num(self.answers[:, :1])


def block(service, *askers, settings=None, **challenger):
    """A block against a service: how to play it, and its challenger."""
    there = {"url": service.url, "rate": 1e5, "timeout": 0.3, "tries": 3, **(settings or {})}
    played = game(own_service=True, service=there, targets={"names": [500]}, **challenger)
    knowledge = know("known", {}, played, 1)
    adversaries = {f"a{i}": Adversary(knowledge, Scorer(asker)) for i, asker in enumerate(askers)}
    return PlayBlock(played, adversaries, 1)


def whole(answers):
    """Whether every row holds the answers of one round of the service, in order and without a gap."""
    names, places = np.divmod(answers, 1000)
    return bool((names == names[:, :1]).all() and (places == np.arange(answers.shape[1])).all())


@pytest.mark.parametrize("key", [True, False])
def test_restarted_service_repeats_the_whole_block(key):
    """Between questions 3 and 4 of all rounds, and in the middle of question 5 of the second try."""
    with running() as service:
        moments = {8 * 3 + 1, 8 * 3 + 1 + 8 * 4 + 4}

        def fault(kind, n):
            if kind == "ask" and n in moments:
                service.forget()

        service.fault = fault
        asker = Asker(6)
        trials = block(service, asker, settings={} if key else WITHOUT_KEYS)(BLOCK)["a0"]
        assert asker.begun == 3
        assert whole(asker.answers)
        assert len(trials) == 8
        assert trials.spent["obtained"].tolist() == pytest.approx([6 * 0.3] * 8)


def test_lost_answers_without_keys_repeat_block_with_fresh_rounds():
    faults = {5: "drop", 20: 502, 36: b"<html>"}
    with running(lambda kind, n: faults.get(n) if kind == "ask" else None) as service:
        asker = Asker(3)
        block(service, asker, settings=WITHOUT_KEYS)(BLOCK)
        assert asker.begun == 4
        assert whole(asker.answers)


def test_all_adversaries_repeat_a_lost_block_with_same_bits():
    with running() as service:
        moment = (
            8 * 2 + 4 + 12 * APART + 3
        )  # after the questions of the first attack, and those of the auditor
        service.fault = lambda kind, n: service.forget() if (kind, n) == ("ask", moment) else None
        one, other = Asker(2), Asker(2)
        play = block(service, one, other)
        trials = play(BLOCK)
        assert (one.begun, other.begun) == (2, 2)
        assert (trials["a0"].members == trials["a1"].members).all()
        assert trials["a0"].members.tolist() == block(service, Asker(1))(BLOCK)["a0"].members.tolist()


def test_repeatedly_lost_block_is_given_up():
    with running(lambda kind, n: b"<html>" if kind == "ask" else None) as service:
        asker = Asker(2)
        with pytest.raises(ReleaseLost, match="rounds 0 to 7 were lost 5 times, the last time by POST"):
            block(service, asker)(BLOCK)
        assert asker.begun == 5


def test_absent_targets_are_sent_by_id():
    with running() as service:
        trials = block(service, Asker(1))(BLOCK)["a0"]
        assert [service.absent[i + 1] == [] for i in range(8)].count(True) == trials.members.sum()
        assert {tuple(ids) for ids in service.absent.values()} == {(), (500,)}
        bodies = [body for kind, _, body, _ in service.seen if kind == "ask"]
        groups = {"group_by", "groups", "edges"}
        assert all(
            set(body) == {"kind", "column", "bound", "where", "ids", "request"} | groups for body in bodies
        )


def test_bits_are_sent_with_their_round():
    with running() as service:
        asker = Asker(1)
        trials = block(service, asker, settings={"connections": 8})(BLOCK)["a0"]
        absent = [service.absent[int(name)] for name in asker.answers[:, 0] // 1000]
        assert [not names for names in absent] == trials.members.tolist()


# -- one question asked twice ---------------------------------------------------------------------------


def test_repeated_query_gets_a_new_key():
    with running(lambda kind, n: "drop" if (kind, n) == ("ask", 2) else None) as service:
        asked = oracle(adapter(service), [[True]])
        same = Query(ids=(3,))
        assert [float(asked.ask(same)[0]) for _ in range(3)] == [1000, 1001, 1002]
        keys = [body["request"] for kind, _, body, _ in service.seen if kind == "ask"]
        assert (len(keys), len(set(keys))) == (4, 3)
        assert keys[1] == keys[2]


@pytest.mark.parametrize(
    ("cache", "kept", "obtained"), [("none", True, 1), ("canonical", True, 1), ("canonical", False, 2)]
)
def test_repeated_answer_is_free_also_from_a_cache_that_is_not_stated(cache, kept, obtained):
    with running(lambda kind, n: b'{"answer": 5.5}' if kept and kind == "ask" else None) as service:
        asked = oracle(adapter(service), [[True]], cache=cache)
        asked.ask(Query(ids=(3,)))
        asked.ask(Query(where="id = 3"))
        assert asked.obtained.tolist() == [[obtained]]


# -- accounts -------------------------------------------------------------------------------------------


def test_accounts_match_local_oracle():
    members = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [1, 1]], dtype=bool)
    queries = [Query(ids=(i, 8, 9)) for i in range(4)] + [Query(where="age > 30"), Query(ids=(9,)), Query()]
    with running() as service:
        there, here = oracle(adapter(service), members, targets=(8, 9)), local(members, targets=(8, 9))
        for query in queries:
            there.ask(query)
            here.ask(query)
    np.testing.assert_array_equal(there.obtained, here.obtained)
    assert there.believed.keys() == here.believed.keys()
    for name, spent in here.believed.items():
        np.testing.assert_array_equal(there.believed[name], spent, err_msg=name)


# -- manners --------------------------------------------------------------------------------------------


class RecordedWaits:
    """Stands for an event that nobody sets; records how long each thread should wait, without waiting."""

    def __init__(self):
        self.seconds = []

    def wait(self, seconds):
        self.seconds.append(seconds)
        return False


def test_rate_limit_holds_across_threads():
    now = [50.0]
    meter, stop = RateLimiter(rate=100.0, total=31, clock=lambda: now[0]), RecordedWaits()
    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(meter.take, stop) for _ in range(30)]:
            done.result()
    np.testing.assert_allclose(sorted(stop.seconds), np.arange(30) / 100, atol=1e-9)  # evenly spaced
    now[0] += 10.0  # a pause saves nothing up
    meter.take(stop)
    assert stop.seconds[-1] == 0.0


def test_connections_share_one_rate_limiter():
    with running() as service:
        remote = adapter(service, rate=1e4, connections=8, timeout=60.0)
        oracle(remote, np.ones((15, 1))).ask(Query(ids=(1,)))
        assert len(service.times) == 30 == remote.sent


def test_request_total_is_never_exceeded():
    with running() as service:
        asker = Asker(6)
        with pytest.raises(IncompleteRun, match=r"service\.total = 20 requests were sent"):
            block(service, asker, settings={"total": 20})(BLOCK)
        assert len(service.seen) == 20
        assert asker.begun == 1


def test_insufficient_total_is_distinguished_from_exhausted_total():
    with running() as service:
        play = block(service, Asker(6), settings={"total": 20})
        with pytest.raises(IncompleteRun, match="before one block was complete: raise total, or lower block"):
            play(BLOCK)
        play = block(service, Asker(6), settings={"total": 90})  # 8 rounds of 6 questions take 64
        play(BLOCK)
        with pytest.raises(IncompleteRun, match="run the same command again to send as many more"):
            play(RoundBlock(1, range(8, 16)))


def test_retries_count_towards_total():
    with running(lambda kind, n: (429, {}) if kind == "ask" else None) as service:
        with pytest.raises(IncompleteRun, match="total = 3"):
            oracle(adapter(service, total=3, tries=50), [[True]]).ask(Query(ids=(1,)))
        assert len(service.seen) == 3


def test_rounds_are_closed_after_a_block():
    with running() as service:
        play = block(service, Asker(2), Asker(2))
        play(BLOCK)
        n_opened = service.n_opened
        assert (n_opened >= 16, service.rounds) == (True, {})
        play(BLOCK)
        assert (service.n_opened, service.rounds) == (2 * n_opened - 2 * APART, {})


def test_rounds_are_closed_after_errors():
    with running(lambda kind, n: (422, {}) if (kind, n) == ("ask", 9) else None) as service:
        with pytest.raises(BadInput, match="422"):
            block(service, Asker(2))(BLOCK)
        assert (service.n_opened, service.rounds) == (8, {})


def test_questions_of_the_auditor_that_a_service_rejects_do_no_harm():
    with running(lambda kind, n: (422, {}) if kind == "ask" and n > 2 * 8 else None) as service:
        trials = block(service, Asker(2))(BLOCK)["a0"]
        assert len(trials) == 8
        assert service.counts["ask"] > 2 * 8
        assert service.rounds == {}


@pytest.mark.parametrize(
    ("asked", "pair"),
    [
        (Query(ids=(1, 5)), (Query(ids=(1, 5)), Query(ids=(5,)))),
        (Query(ids=(1,)), (Query(ids=(1, 0)), Query(ids=(0,)))),
        (
            Query(where="id = 1"),
            (Query(where='"id" IN (1, 0)'), Query(where='("id" IN (1, 0)) AND "id" <> 1')),
        ),
        (Query(where="age > 18"), (Query(where="age > 18"), Query(where='(age > 18) AND "id" <> 1'))),
        (Query(), (Query(), Query(where='"id" <> 1'))),
        (Query(ids=(2, 3)), None),
    ],
)
def test_pair_of_questions_with_and_without_the_target(asked, pair):
    assert question_pair(asked, table((1,))) == pair


def test_unused_rounds_are_closed_before_opening_others():
    with running() as service:
        there = adapter(service)
        first = oracle(there, [[True]])
        first.ask(Query(ids=(1,)))
        del first
        gc.collect()
        oracle(there, [[True]]).ask(Query(ids=(1,)))
        assert (list(service.rounds), service.closed) == ([2], [1])


def test_reused_round_name_is_not_closed_by_old_oracle():
    with running() as service:
        there = adapter(service)
        first = oracle(there, [[True]])
        first.ask(Query(ids=(1,)))
        service.forget()
        service.n_opened = 0
        there.abandon()
        second = oracle(there, [[True]])
        second.ask(Query(ids=(1,)))
        del first
        gc.collect()
        third = oracle(there, [[True]])
        third.ask(Query(ids=(1,)))
        assert second.ask(Query(ids=(2,))).tolist() == [1001]


def test_missing_close_endpoint_is_ignored():
    with running(lambda kind, n: "drop" if kind == "close" else None) as service:
        trials = block(service, Asker(1))(BLOCK)
        assert len(trials["a0"]) == 8
        assert 1 <= service.counts["close"] <= service.n_opened


# -- services of other kinds ----------------------------------------------------------------------------


def test_two_table_copies_need_no_rounds():
    copies = AskRequest(
        path="/{world}/query", json={"sql": "{sql}", "t": {"n": ["{seed}", "x{seed}"]}}, answer="rows.0.0"
    )

    def answer(handler):
        value = b"7.5" if handler.path == "/with/query" else b"6.5"
        reply(handler, 200, b'{"rows": [[' + value + b"]]}")

    with running(lambda kind, n: answer) as service:
        asked = oracle(adapter(service, ask=copies, table="people"), [[True], [False], [True]])
        assert asked.ask(Query(ids=(1, 3))).tolist() == [7.5, 6.5, 7.5]
        bodies = sorted((body["t"]["n"], body["sql"]) for _, _, body, _ in service.seen)
        assert bodies[2] == ([2, "x2"], 'SELECT COUNT(*) FROM people WHERE "id" IN (1, 3)')


def test_two_services_may_hold_two_copies():
    plain = AskRequest(path="/query", json={"where": "{where}"})
    with running() as without, running() as there:
        without.fault = lambda kind, n: lambda handler: reply(handler, 200, b'{"answer": 1.5}')
        there.fault = lambda kind, n: lambda handler: reply(handler, 200, b'{"answer": 2.5}')
        asked = oracle(adapter("{world}", ask=plain, worlds=(without.url, there.url)), [[True], [False]])
        assert asked.ask(Query(ids=(1, 3))).tolist() == [2.5, 1.5]


def test_refusal_without_rounds_stops_the_run():
    plain = AskRequest(path="/{world}", json={"where": "{where}"})
    with (
        running(lambda kind, n: (403, {})) as service,
        pytest.raises(BadInput, match="without open no round has its own budget"),
    ):
        oracle(adapter(service, ask=plain), [[True]]).ask(Query())


def test_suppressed_counts_need_no_rounds():
    plain = AskRequest(path="/{world}", json={"where": "{where}"})
    small = RefusalRule(field="small")

    def answer(handler):
        reply(handler, 200, b'{"small": true}' if handler.path == "/without" else b'{"answer": 10.5}')

    with running(lambda kind, n: answer) as service:
        asked = oracle(adapter(service, ask=plain, suppressed=small), [[True], [False]])
        np.testing.assert_array_equal(asked.ask(Query(where="age > 3")), [10.5, np.nan])


def test_groups_are_asked_once_and_charged_once():
    histogram = Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=("north", "east", "south"))

    def answer(kind, n):
        numbers = b"[2.5, null, 1.5]" if n % 2 else b"[2.5, 7.0, 1.5]"
        if kind == "ask":
            return lambda handler: reply(handler, 200, b'{"answer": ' + numbers + b"}")
        return None

    with running(answer) as service:
        asked = oracle(adapter(service, connections=1), [[True], [False]], targets=(0,), cache="text")
        np.testing.assert_array_equal(asked.ask(histogram), [[2.5, np.nan, 1.5], [2.5, 7.0, 1.5]])
        np.testing.assert_allclose(asked.believed["sequential"], 1.0)
        np.testing.assert_allclose(asked.obtained, 1.0)
        asked.ask(histogram)  # the same answers again
        np.testing.assert_allclose(asked.obtained, 1.0)
        bodies = [body for kind, _, body, _ in service.seen if kind == "ask"]
        assert bodies[0]["groups"] == ["north", "east", "south"]


@pytest.mark.parametrize(
    "query",
    [
        Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=("north", "east")),
        Query(kind=QueryKind.AVERAGE, column="income", bound=50.0),
    ],
)
def test_our_service_answers_groups_and_averages(query):
    owner = game(mechanism={"name": "laplace", "scale": 1e-3})
    rounds = service_rounds(owner)
    name = rounds.open(())
    expected = owner.release(np.ones((1, 1), dtype=bool), np.random.default_rng(1)).oracle().ask(query)[0]
    np.testing.assert_allclose(rounds.ask(name, query, None).answer, expected, atol=0.05)


def fails_at(n_ask, how):
    """A fault of the n-th question and of all that follow."""
    return lambda kind, n: how if kind == "ask" and n >= n_ask else None


def test_rounds_of_a_block_with_an_error_are_closed():
    with running(fails_at(12, (400, {}))) as service:
        with pytest.raises(BadInput, match="status 400") as failed:
            block(service, Asker(2))(BLOCK)
        assert "stay open" not in str(failed.value)
        assert (service.n_opened, service.rounds, sorted(service.closed)) == (8, {}, list(range(1, 9)))


def test_rounds_of_an_interrupted_block_are_closed():
    def interrupt(view, rng):
        view.oracle().ask(Query(ids=(1, 500)))
        raise KeyboardInterrupt

    with running() as service:
        with pytest.raises(KeyboardInterrupt):
            block(service, interrupt)(BLOCK)
        assert (service.n_opened, service.rounds) == (8, {})


def test_rounds_that_cannot_be_closed_are_named():
    def fault(kind, n):
        return {"ask": (400, {}) if n > 11 else None, "close": 500 if n > 5 else None}.get(kind)

    with (
        running(fault) as service,
        pytest.raises(
            BadInput, match=r"status 400.*; 3 rounds stay open at the service, which could not be closed$"
        ),
    ):
        block(service, Asker(2))(BLOCK)


def test_service_that_dies_half_way():
    """The first try of the block opens eight rounds, and nobody is there to close them."""
    with running() as service:

        def die(view, rng):
            asked = view.oracle()
            asked.ask(Query(ids=(1, 500)))
            service.fault = lambda kind, n: drop  # on the connections that are still there
            service.stop()
            asked.ask(Query(ids=(2, 500)))

        with pytest.raises(ReleaseLost, match=r"no connection.*; 8 rounds stay open at the service, which"):
            block(service, die)(BLOCK)


def test_plan_without_close_says_what_stays_open():
    said = r"; 8 rounds stay open at the service, as the plan has no close$"
    with running(fails_at(9, (400, {}))) as service, pytest.raises(BadInput, match=said):
        block(service, Asker(2), settings=WITHOUT_KEYS)(BLOCK)


def test_rounds_that_the_service_forgot_are_not_left_behind():
    with running() as service:

        def forget(view, rng):
            asked = view.oracle()
            asked.ask(Query(ids=(1, 500)))
            service.forget()
            raise BadInput("stopped here")

        with pytest.raises(BadInput, match=r"stopped here$"):
            block(service, forget)(BLOCK)
