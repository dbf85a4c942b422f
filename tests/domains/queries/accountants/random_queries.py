"""Random queries to a small table, and the counts of accountants for them."""

from itertools import product

import numpy as np

from domains.queries.random_predicates import predicate
from leakgauge.domains.queries.accounting import find_accountant
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleRecords, OracleTable
from leakgauge.domains.queries.sql.conditions import ColumnType

TYPES = {"id": ColumnType.WHOLE, "age": ColumnType.WHOLE, "region": ColumnType.TEXT}
VALUES = {"id": ["0", "1", "2", "3", "4", "5"], "age": ["1", "2"], "region": ["'a'", "'b'"]}
EVERYBODY = list(product(range(6), [0, 1, 2, 3], ["a", "b", "c"]))  # id, age, region: whoever might exist


def people(rows):
    """A table of some who might exist; row numbers stand for records, ids for what is asked about."""
    columns = {
        "id": np.array([row[0] for row in rows]),
        "age": np.array([row[1] for row in rows]),
        "region": np.array([row[2] for row in rows], dtype=object),
    }
    return OracleRecords(TYPES, columns, "id", "d")


def queries(rng, n):
    """By ids, by predicates on ids, and by predicates on anything; some of them again and again."""
    drawn = []
    for _ in range(n):
        ids = tuple(int(i) for i in rng.permutation(8)[: rng.integers(1, 4)])
        ways = [
            Query(ids=ids),
            Query(where=f"id IN ({', '.join(map(str, ids))})"),
            Query(where=f"id = {ids[0]} AND age < 3"),
            Query(where=predicate(rng, 1, VALUES, truths=False)),
            Query(where=predicate(rng, 2, VALUES, truths=False)),
        ]
        drawn.append(ways[int(rng.integers(len(ways)))])
    return drawn


def asked(table, asked_queries):
    return [table.ask(query) for query in asked_queries]


def answered(name, members, questions, most):
    """Which questions an accountant lets through, and what it says was spent, question by question."""
    account = find_accountant(name)(np.asarray(members, dtype=bool))
    allowed, spent = [], []
    for question in questions:
        may = account.after(question) <= most
        if may.any():
            account.add(question, may)
        allowed.append(may)
        spent.append(account.spent.copy())
    return np.array(allowed), np.array(spent)


def with_and_without(rng):
    """A table and the same without one record; both hold the same other target, whose bit stays."""
    rows = [EVERYBODY[12 * i + int(rng.integers(12))] for i in range(6)]
    return OracleTable(people(rows), np.array([0])), OracleTable(people(rows[:-1]), np.array([0]))


def everybody():
    """All who might exist, with numbers of their own: their ids are not theirs alone."""
    some = people([row for row in EVERYBODY if row[1:] == (0, "a")])
    columns = {
        name: np.array([row[i] for row in EVERYBODY], dtype=some.columns[name].dtype)
        for i, name in enumerate(TYPES)
    }
    numbers = {"number": np.arange(len(EVERYBODY))}
    return OracleRecords({**TYPES, "number": ColumnType.WHOLE}, columns | numbers, "number", "d")


def selected(questions):
    """Questions x all who might exist: who would be selected."""
    universe = everybody()
    found = np.zeros((len(questions), len(universe)), dtype=bool)
    for i, question in enumerate(questions):
        found[i, universe.rows(question.condition)] = True
    return found
