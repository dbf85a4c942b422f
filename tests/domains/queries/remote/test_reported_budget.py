"""What a service says it has spent stands beside what was obtained and what accountants would say."""

import numpy as np
import pytest

from domains.queries.remote.faulty_service import adapter, oracle, running
from domains.queries.remote.noisy_count_services import (
    EPSILON,
    N_ANSWERS,
    BetterCache,
    NoisyCounts,
    RedrawsForFree,
    ZeroConcentrated,
)
from domains.queries.remote.service_audits import audit_service
from domains.queries.small_table import table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules
from leakgauge.domains.queries.plan_tables import read_challenger_table
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.remote.plan_tables import SpentRule
from leakgauge.domains.queries.remote.remote_oracle import HttpOracle, ServedAnswer
from leakgauge.mechanisms import geometric

REPLY = b'{"answer": 5.5, "budget": [{"spent": %s}]}'
IN_BODY = SpentRule(field="budget.0.spent")


def every_reply(content):
    return lambda kind, n: content if kind == "ask" else None


@pytest.mark.parametrize("said", [b"0.75", b'"0.75"'])
def test_number_in_the_body(said):
    with running(every_reply(REPLY % said)) as service:
        asked = oracle(adapter(service, spent=IN_BODY), [[True], [False]])
        assert asked.reported.tolist() == [0, 0]
        asked.ask(Query(ids=(3,)))
        assert asked.reported.tolist() == [0.75, 0.75]


def test_nothing_is_reported_unless_the_plan_says_where():
    with running() as service:
        asked = oracle(adapter(service), [[True]])
        asked.ask(Query(ids=(3,)))
        assert asked.reported is None


@pytest.mark.parametrize("said", [b"null", b'"much"', b"-1", b"true", b"[]"])
def test_useless_number_is_bad_input(said):
    with running(every_reply(REPLY % said)) as service:
        asked = oracle(adapter(service, spent=IN_BODY), [[True]])
        with pytest.raises(BadInput, match=r"nothing usable under field 'budget\.0\.spent'.*service\.spent"):
            asked.ask(Query(ids=(3,)))


def test_missing_header_is_bad_input():
    with running() as service:
        asked = oracle(adapter(service, spent=SpentRule(header="X-Spent")), [[True]])
        with pytest.raises(BadInput, match="nothing usable under header 'X-Spent'"):
            asked.ask(Query(ids=(3,)))


def test_later_replies_may_leave_it_out_and_refusals_too():
    replies = [REPLY % b"0.5", b'{"answer": 6.5}', (403, {})]
    with running(lambda kind, n: replies[n - 1] if kind == "ask" else None) as service:
        asked = oracle(adapter(service, spent=IN_BODY, connections=1), [[True]])
        for name in (3, 4):
            asked.ask(Query(ids=(name,)))
            assert asked.reported.tolist() == [0.5]


@pytest.mark.parametrize("rule", [{}, {"field": "a", "header": "b"}])
def test_one_place_is_named(rule):
    with pytest.raises(BadInput, match="name one of the two"):
        SpentRule(**rule)


def test_needs_rounds():
    ask = {"path": "/q/{world}", "json": {"where": "{where}"}}
    service = {"url": "http://127.0.0.1:1", "ask": ask, "spent": {"field": "spent"}}
    with pytest.raises(BadInput, match=r"spent: without open.*add open"):
        read_challenger_table({"cache": "none", "own_service": True, "service": service})


@pytest.mark.parametrize("place", [{"field": "spent"}, {"header": "X-Spent"}])
def test_stands_beside_the_accounts_in_an_audit(tmp_path, place):
    (verdict,) = audit_service(NoisyCounts, tmp_path, rounds=10, service={"spent": place}).verdicts
    assert {
        verdict["spent"][name]["mean"] for name in ("reported", "obtained", "believed", "sequential")
    } == {EPSILON * N_ANSWERS}


def test_a_better_accountant_reports_less_than_the_sum(tmp_path):
    (verdict,) = audit_service(
        ZeroConcentrated, tmp_path, rounds=4, service={"spent": {"field": "spent"}}, report=True
    ).verdicts
    spent = verdict["spent"]
    assert spent["reported"]["most"] < ZeroConcentrated.promise < spent["obtained"]["most"]
    assert "what the service itself says in its replies" in (tmp_path / "run" / "report.html").read_text()


def test_a_better_cache_than_stated_does_not_overstate_what_was_obtained(tmp_path):
    """Six rewordings of a question get one answer: one epsilon."""
    (verdict,) = audit_service(
        BetterCache, tmp_path, rounds=10, service={"spent": {"field": "spent"}}
    ).verdicts
    assert verdict["spent"]["obtained"]["most"] == verdict["spent"]["reported"]["most"] == EPSILON


def test_redrawn_answers_are_counted(tmp_path):
    """Six answers to a question that the service charges once: six times its epsilon."""
    (verdict,) = audit_service(
        RedrawsForFree, tmp_path, rounds=10, service={"spent": {"field": "spent"}}
    ).verdicts
    spent = {name: span["most"] for name, span in verdict["spent"].items()}
    assert (spent["obtained"], spent["reported"]) == (6 * EPSILON, EPSILON)


@pytest.mark.parametrize(("n_rounds", "redrawn", "n_charged"), [(80, False, 1), (80, True, 2), (8, False, 2)])
def test_whole_answers_are_equal_by_chance(n_rounds, redrawn, n_charged):
    """Whole noise often repeats itself: only many equal rounds show a cache that is not stated."""

    class Adapter:
        service = adapter("http://127.0.0.1:1").service
        rng, first = np.random.default_rng(3), None

        def open(self, tables):
            return list(tables)

        def finish(self, rounds):
            pass

        def ask(self, rounds, question):
            if self.first is None or redrawn:
                self.first = np.array(self.rng.integers(-3, 4, len(rounds)), dtype=float)
            return [ServedAnswer(answer) for answer in self.first.tolist()]

    rules = OracleRules(noise=geometric.Mechanism(epsilon=0.5), accountant="none", cache=AnswerCache.NONE)
    members = np.ones((n_rounds, 1), dtype=bool)
    asked = HttpOracle(Adapter(), table((3,)), rules, members, [0] * n_rounds)
    for where in ("id = 3", "3 = id AND TRUE"):
        asked.ask(Query(where=where))
    assert (asked.obtained == 0.5 * n_charged).all()
