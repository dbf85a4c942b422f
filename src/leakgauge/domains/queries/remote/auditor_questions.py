"""Questions of the auditor to a service after an attack, which asks only what it needs.

One session of a block is asked on, to see whether it refuses when its budget is spent: first a question that
it has answered already, which a cache must answer in the same way, then new questions about the target.
Sessions of their own are asked a question and the same question without the target. Where the target is
absent both have the same true answer and the same records, so that an answer which is repeated for one of
these reasons tells the target; one that is repeated whatever is asked does not. Once for all, one session is
asked many questions at the same moment, and others about a total, about nobody and about some numbers of
records.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from leakgauge.domains.queries.guarantee import least_epsilon
from leakgauge.domains.queries.oracle import ROUNDING, OracleRules
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.records import OracleTable
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal
from leakgauge.mechanisms import opendp
from leakgauge.referee.equal_noise import chances_of_whole_numbers, largest_chance, most_chance_of_equal

MOST_QUESTIONS = 40  # in the session that is asked on
APART = 8  # sessions of each world that are asked about a total, about nobody and about so many records:
SIZES = (3, 10, 30, 100)
FEWEST_ROUNDS = 8  # smaller blocks are not all asked on
ROUNDS_PER_PAIR, FEWEST_PER_PAIR = 10, 2  # for each session of each world with a pair of questions
MOST_PAIRED = 100  # rounds of a block for which there are such sessions


def has_probe(rules: OracleRules, n_rounds: int, seed: int) -> bool:
    """Whether one session of a block is asked on: in one of eight rounds at most."""
    return rules.bounded and seed % FEWEST_ROUNDS < n_rounds


@lru_cache(maxsize=64)
def answers_beyond(rules: OracleRules) -> int | None:
    """How many answers about one record no composition fits into the budget; None if they are many."""
    if rules.budget is None or rules.most_answers is None:
        return None
    delta, low = rules.composed_at, rules.most_answers
    high = low + 1
    while not _is_beyond(rules, high, delta):
        low, high = high, 2 * high
        if high > 2 * rules.most_answers + 2 * MOST_QUESTIONS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_beyond(rules, middle, delta) else (middle, high)
    return high


def further_requests(rules: OracleRules, per_session: int, n_rounds: int) -> tuple[int, int]:
    """How many requests and sessions are added to a block of an attacker, at most.

    ``per_session`` is how many requests open and close one; 0 where there are none.
    """
    beyond = answers_beyond(rules) if rules.bounded else None
    asked_on = 0 if beyond is None else min(2 * MOST_QUESTIONS, beyond + 2)
    sessions = 2 * n_pair_sessions(n_rounds, rounds_per_pair(rules))
    return asked_on + sessions * (2 + per_session), sessions if per_session else 0


def requests_once(rules: OracleRules, per_session: int, total: int) -> tuple[int, int]:
    """How many requests and sessions are added to a run, at most; none where the total is not far above."""
    beyond = answers_beyond(rules) if rules.bounded else None
    burst = 0 if beyond is None else 3 * MOST_QUESTIONS + beyond + per_session
    requests = burst + 2 * APART * (len(SIZES) + 2 + per_session)
    if total < 4 * requests:
        return 0, 0
    return requests, (2 * APART + (beyond is not None)) if per_session else 0


@lru_cache(maxsize=64)
def rounds_per_pair(rules: OracleRules) -> int:
    """For how many rounds there is a session of each world that is asked a pair of questions.

    Little whole-number noise makes answers equal by chance, so that it takes more pairs to tell whether they
    are repeated.
    """
    noise = rules.noise.law if isinstance(rules.noise, opendp.Mechanism) else rules.noise
    if noise.lattice:
        equal = most_chance_of_equal(chances_of_whole_numbers(noise))
    else:
        equal = largest_chance(noise, 1.0) if rules.round else 0.0
    return max(FEWEST_PER_PAIR, round(ROUNDS_PER_PAIR * (1 - equal)))


def n_pair_sessions(n_rounds: int, per_pair: int = ROUNDS_PER_PAIR, seed: int = -1) -> int:
    """How many sessions of each world are asked a pair of questions; of small blocks only some have one.

    >>> n_pair_sessions(50), n_pair_sessions(1000), n_pair_sessions(1, seed=0), n_pair_sessions(1, seed=9)
    (5, 10, 0, 1)
    >>> n_pair_sessions(50, per_pair=4), n_pair_sessions(1000, per_pair=4)
    (13, 25)
    """
    return min(MOST_PAIRED // per_pair, (n_rounds + seed % per_pair) // per_pair)


def question_pair(asked: Query, table: OracleTable) -> tuple[Query, Query] | None:
    """A question that selects a target and others, and the same question without the target.

    It is the one that was asked; where that is about targets only, one record more is selected. None where it
    is about no target, or there is no other record.
    """
    resolved, records = table.ask(asked), table.records
    others = [row for row in range(len(records)) if row not in table.targets]
    if not resolved.targets.any() or not others:
        return None
    name = records.ids[int(table.targets[int(resolved.targets.argmax())])]
    column = quote_identifier(records.id_column)
    if not resolved.others.size:
        more = records.ids[others[0]]
        if asked.ids is not None:
            asked = asked.on((*asked.ids, more))
        else:
            asked = asked.such_that(f"{column} IN ({quote_literal(name)}, {quote_literal(more)})")
    if asked.ids is not None:
        return asked, asked.on(tuple(other for other in asked.ids if other != name))
    without = f"{column} <> {quote_literal(name)}"
    return asked, asked.such_that(without if asked.where is None else f"({asked.where}) AND {without}")


def _is_beyond(rules: OracleRules, n_answers: int, delta: float) -> bool:
    assert rules.budget is not None
    return least_epsilon(rules.noise, n_answers, delta) > rules.budget * (1 + ROUNDING)


def further_questions(asked: Query, table: OracleTable) -> Iterator[Query]:
    """New questions that select a target, in the manner of one that a service has answered."""
    records, target = table.records, int(table.targets[0])
    name = records.ids[target]
    if asked.ids is not None:
        others = [row for row in range(len(records)) if row not in table.targets][-2 * MOST_QUESTIONS :]
        for i, row in enumerate(reversed(others)):
            more = (records.ids[others[0]],) if i % 2 and row != others[0] else ()
            yield asked.on((name, records.ids[row], *more))
        return
    column = quote_identifier(records.id_column)
    for i in range(1, 2 * MOST_QUESTIONS + 1):
        other: Id = name + "z" * i if isinstance(name, str) else -i - abs(name)
        where = f"{column} = {quote_literal(name)} AND {column} <> {quote_literal(other)}"
        yield asked.such_that(where)


def questions_apart(asked: Query, table: OracleTable) -> Iterator[tuple[int, Query]]:
    """The same question about all records, about nobody, and about some numbers of them, with the number."""
    records = table.records
    others = [row for row in range(len(records)) if row not in table.targets]
    column = quote_identifier(records.id_column)
    yield len(records), replace(asked, where=None, ids=None)
    yield 0, next(about_nobody(asked, table))
    for n in [n for n in SIZES if n < len(others)]:
        names = tuple(records.ids[row] for row in others[:n])
        where = f"{column} IN ({', '.join(map(quote_literal, names))})"
        yield n, asked.on(names) if asked.ids is not None else asked.such_that(where)


def about_nobody(asked: Query, table: OracleTable) -> Iterator[Query]:
    """Different questions in the same manner that select no record."""
    name, column = (
        quote_literal(table.records.ids[int(table.targets[0])]),
        quote_identifier(table.records.id_column),
    )
    for further in further_questions(asked.such_that(f"{column} = {name}"), table):
        yield further.such_that(f"{further.where} AND {column} <> {name}")
