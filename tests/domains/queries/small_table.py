"""A table of ten people, and games about it."""

from pathlib import Path

import numpy as np

from leakgauge.domains.queries.challenger import build
from leakgauge.domains.queries.knowledge import build as know
from leakgauge.domains.queries.oracle import AnswerCache, LocalOracle, OracleRules, SuppressBy
from leakgauge.domains.queries.records import OracleRecords, OracleTable
from leakgauge.domains.queries.sql.conditions import ColumnType
from leakgauge.mechanisms import laplace

TYPES = {
    "id": ColumnType.WHOLE,
    "age": ColumnType.WHOLE,
    "income": ColumnType.REAL,
    "region": ColumnType.TEXT,
    "smoker": ColumnType.TRUTH,
    "since": ColumnType.TIME,
}
AGES = np.ma.masked_array([20, 25, 30, 35, 40, 45, 50, 55, 60, 65], mask=[False] * 9 + [True])
REGIONS = ["north", "south", "North", None, "east", "north", "it's", "", "west", "south"]
DAYS = np.array([f"2020-01-{day:02d}" for day in range(1, 11)], dtype="datetime64[us]")


def records(**changed):
    columns = {
        "id": np.arange(10, dtype=np.int64),
        "age": AGES,
        "income": np.array([0.5, 10.0, 20.0, 30.5, -40.0, 50.0, 60.0, 70.0, 80.0, 1000.0]),
        "region": np.array(REGIONS, dtype=object),
        "smoker": np.ma.masked_array([True, False] * 5, mask=[False] * 8 + [True] * 2),
        "since": DAYS,
    }
    return OracleRecords(TYPES, columns | changed, "id", "digest")


def table(targets=(3,), **changed):
    return OracleTable(records(**changed), np.array(targets, dtype=np.int64))


def oracle(
    members,
    *,
    targets=None,
    epsilon=1.0,
    accountant="none",
    cache="none",
    budget=None,
    seed=1,
    scale=None,
    at_least=None,
    suppress_by="records",
):
    members = np.atleast_2d(np.asarray(members, dtype=bool))
    targets = tuple(range(members.shape[1])) if targets is None else targets
    rules = OracleRules(
        noise=laplace.Mechanism(epsilon=epsilon, scale=scale),
        accountant=accountant,
        cache=AnswerCache(cache),
        budget=budget,
        at_least=at_least,
        suppress_by=SuppressBy(suppress_by),
    )
    return LocalOracle(table(targets), rules, members, seed)


def game(*, data=None, mechanism=None, folder=Path(), seed=1, **challenger):
    noise = {"name": "laplace", "epsilon": 0.3} if mechanism is None else mechanism
    return build(data=data or {}, challenger=challenger, mechanism=noise, folder=folder, seed=seed)


def known(challenger, **parameters):
    return know("known", parameters, challenger, 1)
