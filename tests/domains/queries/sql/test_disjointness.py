from itertools import product

import numpy as np
import pytest

from domains.queries.random_predicates import predicate
from domains.queries.small_table import TYPES
from leakgauge.domains.queries.records import OracleRecords
from leakgauge.domains.queries.sql.conditions import ColumnType
from leakgauge.domains.queries.sql.disjointness import are_disjoint, value_ranges
from leakgauge.domains.queries.sql.parser import parse_predicate

VALUES = {"age": ["1", "2", "2.5"], "income": ["1", "1.5", "2"], "region": ["'a'", "'b'"]}


@pytest.fixture(scope="module")
def everybody():
    """Every combination of these values, including missing ones."""
    ages = [0, 1, 2, 3, None]
    incomes = [0.5, 1.0, 1.2, 1.5, 1.7, 2.0, 9.0, None]
    rows = list(product(ages, incomes, ["a", "b", "c", None]))
    columns = {
        "id": np.arange(len(rows)),
        "age": np.ma.masked_array([row[0] or 0 for row in rows], mask=[row[0] is None for row in rows]),
        "income": np.ma.masked_array([row[1] or 0.0 for row in rows], mask=[row[1] is None for row in rows]),
        "region": np.array([row[2] for row in rows], dtype=object),
    }
    kinds = {
        "id": ColumnType.WHOLE,
        "age": ColumnType.WHOLE,
        "income": ColumnType.REAL,
        "region": ColumnType.TEXT,
    }
    return OracleRecords(kinds, columns, "id", "d")


@pytest.mark.parametrize("seed", range(4))
def test_disjoint_conditions_share_no_record(everybody, seed):
    rng, n_disjoint = np.random.default_rng([2, seed]), 0
    for _ in range(150):
        one, other = (
            parse_predicate(predicate(rng, 2, VALUES, truths=False), everybody.types) for _ in range(2)
        )
        if are_disjoint(value_ranges(one), value_ranges(other)):
            n_disjoint += 1
            assert not set(everybody.rows(one).tolist()) & set(everybody.rows(other).tolist()), (one, other)
    assert n_disjoint >= 5


@pytest.mark.parametrize(
    ("one", "other", "disjoint"),
    [
        ("age = 1", "age = 2", True),
        ("age = 1", "age = 1", False),
        ("age IN (1, 2)", "age IN (3, 4)", True),
        ("age IN (1, 2)", "age IN (2, 3)", False),
        ("age < 30", "age >= 30", True),
        ("age <= 30", "age >= 30", False),
        ("income < 30", "income > 30", True),
        ("income <= 30", "income >= 30", False),
        ("age < 30", "age IN (30, 31)", True),
        ("age < 30 AND smoker", "region = 'a' AND age > 40", True),
        ("age BETWEEN 1 AND 2", "age BETWEEN 3 AND 4", True),
        ("region = 'a'", "region = 'b' AND age > 3", True),
        ("region < 'b'", "region > 'b'", True),
        ("smoker", "NOT smoker", True),
        ("since < '2020-01-01'", "since >= '2020-01-01'", True),
        ("age < 30", "income > 40", False),  # another column: unknown
        ("age <> 1", "age = 1", False),  # disjoint, but not of the simple kind: assumed to overlap
        ("age < 30 OR smoker", "age > 40", False),
        ("lower(region) = 'a'", "lower(region) = 'b'", True),
        ("lower(region) = 'a'", "region = 'b'", False),
        ("true", "age = 1", False),
    ],
)
def test_disjointness_is_found_in_simple_cases(one, other, disjoint):
    first, second = value_ranges(parse_predicate(one, TYPES)), value_ranges(parse_predicate(other, TYPES))
    assert are_disjoint(first, second) is disjoint
    assert are_disjoint(second, first) is disjoint
