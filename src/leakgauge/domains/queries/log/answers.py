"""The answers in a query log, one row per release: their noise, and how far one record can move them."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.log.files import LogSource, duckdb_errors_as_bad_input
from leakgauge.domains.queries.records import Ints
from leakgauge.support.tabular import Connection
from leakgauge.theory import gdp

LARGEST_EPSILON = 1e9  # epsilon of one answer
MOST_STEPS = 1_000_000  # by which one record may move an answer with geometric noise
NUMBER_FIELDS = ("epsilon", "scale", "sigma", "delta", "bound")


class LoggedNoise(IntEnum):
    """The noise of an answer."""

    LAPLACE = 0
    GEOMETRIC = 1
    GAUSSIAN = 2


@dataclass(frozen=True, eq=False)
class LoggedAnswers:
    """One row for each release: rows of the log with the same query id are one."""

    ids: npt.NDArray[Any]  # whole numbers or texts
    rows: Ints  # of the log, counted from 1
    noise: Ints
    scale: Reals  # of Laplace or geometric noise; the standard deviation of Gaussian noise
    bound: Reals  # how far one record can move the answer: 1 for a count
    is_sum: Bits

    def __len__(self) -> int:
        return int(self.ids.size)


def read_answers(table: dict[str, npt.NDArray[Any]], where: str) -> tuple[LoggedAnswers, int]:
    """Make the answers of a table, and tell how many have a scale that is not the one of their epsilon.

    Where both are given the scale counts, and epsilon is a label, as in a plan.
    """
    rows, said = np.asarray(table["n"], dtype=np.int64), _LogColumns(table, where)
    noise = said.choice("mechanism", ("laplace", "geometric", "gaussian"))
    noise = np.where(
        noise < 0, np.where(said.given("sigma"), LoggedNoise.GAUSSIAN, LoggedNoise.LAPLACE), noise
    )
    is_sum = said.choice("kind", ("count", "sum")) == 1
    for name in NUMBER_FIELDS:
        odd = said.given(name) & ~((said.values(name) > 0) & (said.values(name) < np.inf))
        said.refuse(odd, name, "must be > 0 and finite")
    said.refuse(said.given("delta") & ~(said.values("delta") < 1), "delta", "must be in (0, 1)")
    said.refuse(is_sum & ~said.given("bound"), "kind", "a sum needs a bound on one record's value; add it")
    said.refuse(~is_sum & said.given("bound"), "bound", "a count has none; leave it out, or say kind = sum")
    bound = np.where(is_sum, said.values("bound"), 1.0)
    normal = noise == LoggedNoise.GAUSSIAN
    said.refuse(~normal & said.given("sigma"), "sigma", "is of gaussian noise; say scale, or epsilon")
    uneven = (noise == LoggedNoise.GEOMETRIC) & ~((bound == np.floor(bound)) & (bound <= MOST_STEPS))
    rule = f"must be a whole number up to {MOST_STEPS:,} under geometric noise; count in larger units"
    said.refuse(uneven, "bound", rule)
    scale = np.where(normal & said.given("sigma"), said.values("sigma"), said.values("scale"))
    unset = ~(said.given("scale") | (normal & said.given("sigma")))
    said.refuse(unset & ~said.given("epsilon"), "epsilon", "says nothing, nor does scale; add one of them")
    said.refuse(
        unset & normal & ~said.given("delta"), "epsilon", "of gaussian noise needs delta beside it, or sigma"
    )
    by_epsilon = _scale_for(said.values("epsilon"), said.values("delta"), bound, normal)
    disagree = ~unset & ~normal & said.given("epsilon") & ~np.isclose(scale, by_epsilon, rtol=1e-6)
    scale = np.where(unset, by_epsilon, scale)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bare = ~((bound / scale <= LARGEST_EPSILON) & (scale < np.inf))
    name = "epsilon" if unset[int(np.argmax(bare))] else "scale"
    said.refuse(bare, name, f"is no protection: an answer of epsilon above {LARGEST_EPSILON:g}; fix it")
    return LoggedAnswers(table["query"], rows, noise, scale, bound, is_sum), int(np.count_nonzero(disagree))


def _scale_for(epsilon: Reals, delta: Reals, bound: Reals, normal: Bits) -> Reals:
    """The scale that an epsilon stands for; for Gaussian noise by analytic calibration."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = bound / epsilon
    rows = np.flatnonzero(normal & np.isfinite(epsilon) & np.isfinite(delta))
    if rows.size:
        pairs, which = np.unique(np.stack([epsilon[rows], delta[rows]]), axis=1, return_inverse=True)
        mus = np.array([gdp.mu_for(*pair) for pair in pairs.T.tolist()])
        scale[rows] = bound[rows] / mus[which.ravel()]
    return scale


@dataclass(frozen=True, eq=False)
class _LogColumns:
    """What rows of a log say, and the first of them that says something odd."""

    table: dict[str, npt.NDArray[Any]]
    where: str

    def given(self, name: str) -> Bits:
        return np.asarray(~np.ma.getmaskarray(self.table[name]))

    def values(self, name: str) -> Reals:
        return np.ma.filled(np.ma.asarray(self.table[name]), np.nan)

    def choice(self, name: str, known: tuple[str, ...]) -> Ints:
        """Which of the known words each row says, -1 for none."""
        words = np.ma.asarray(self.table[name])
        found = np.full(words.size, -1)
        given = self.given(name)
        for place, word in enumerate(known):
            found[given & (words.data == word)] = place
        self.refuse(given & (found < 0), name, f"known: {', '.join(known)}")
        return found

    def refuse(self, odd: Bits, name: str, rule: str) -> None:
        if not odd.any():
            return
        first = int(np.argmax(odd))
        value = f" = {self.table[name][first]}" if self.given(name)[first] else ""
        raise BadInput(f"{self.where}, row {self.table['n'][first]}: {name}{value}: {rule}")


_WORDS = ("mechanism", "kind")
_TEXTS = ("column", "where")
LOG_FIELDS = (*NUMBER_FIELDS, *_WORDS, *_TEXTS)


@dataclass(frozen=True)
class LogTable:
    """The table ``log`` (n, query, code, records, and the fields), and how many rows repeated a release."""

    whole: bool  # whether query ids are whole numbers
    repeated: int


def create_log_table(connection: Connection, source: LogSource, *, long: bool) -> LogTable:
    """Make the table of a log; ``long``: the log has a row for each record of a query."""
    if not source.has("query"):
        raise BadInput(
            f"{source.path.name}: no column is called 'query'; a log has the id of each query there. "
            f"Found: {', '.join(source.types) or 'none'}"
        )
    whole = source.is_whole("query")
    fields = ", ".join(f"{_field(source, name)} AS {_name(name)}" for name in LOG_FIELDS)
    records = source.names["records"] if source.has("records") else "NULL"
    odd = " ".join(f"WHEN {_odd(source, name)} THEN '{name}'" for name in NUMBER_FIELDS if source.has(name))
    rows = (
        f"SELECT row_number() OVER () AS n, {source.names['query']} AS query, {records} AS records, "
        f"{fields}, CASE {odd or 'WHEN false THEN NULL'} END AS odd FROM {source.sql}"
    )
    with duckdb_errors_as_bad_input(source.path):
        if long:
            same = ", ".join(_name(name) for name in LOG_FIELDS)
            rows = f"SELECT min(n) AS n, query, records, {same}, odd FROM ({rows}) GROUP BY ALL"
        connection.execute(f"CREATE TABLE said AS {rows}")
    _refuse_odd(connection, source)
    whole = whole or _all_whole(connection)
    key = "CAST(query AS BIGINT)" if whole else "CAST(query AS VARCHAR)"
    connection.execute(
        "CREATE TABLE log AS SELECT * EXCLUDE (first), CAST(row_number() OVER (ORDER BY n) - 1 AS INTEGER) "
        f"AS code FROM (SELECT * EXCLUDE (odd) REPLACE ({key} AS query), min(n) OVER (PARTITION BY query) "
        "AS first FROM said) WHERE n = first ORDER BY n"
    )
    repeated = _count(connection, "said") - _count(connection, "log")
    if repeated:
        _refuse_contradiction(connection, source)
    connection.execute("DROP TABLE said")
    return LogTable(whole, repeated)


def fetch_noise_columns(connection: Connection) -> dict[str, npt.NDArray[Any]]:
    """The columns that say how much noise each answer has."""
    names = ", ".join(_name(name) for name in (*NUMBER_FIELDS, *_WORDS))
    return connection.execute(f"SELECT n, query, {names} FROM log ORDER BY code").fetchnumpy()


def _name(field: str) -> str:
    return f'"{field}"'


def _field(source: LogSource, name: str) -> str:
    if not source.has(name):
        return f"CAST(NULL AS {'DOUBLE' if name in NUMBER_FIELDS else 'VARCHAR'})"
    if name in NUMBER_FIELDS:
        return f"TRY_CAST({source.names[name]} AS DOUBLE)"
    text = f"nullif(trim(CAST({source.names[name]} AS VARCHAR)), '')"
    return f"lower({text})" if name in _WORDS else text


def _odd(source: LogSource, name: str) -> str:
    text = f"trim(CAST({source.names[name]} AS VARCHAR))"
    return f"{text} <> '' AND TRY_CAST({source.names[name]} AS DOUBLE) IS NULL"


def _all_whole(connection: Connection) -> bool:
    """Whether texts are all whole numbers, written as such."""
    number = "TRY_CAST(query AS BIGINT)"
    (found,) = connection.execute(
        f"SELECT bool_and(coalesce(CAST({number} AS VARCHAR) = query, false)) FROM said"
    ).fetchall()[0]
    return bool(found)


def _refuse_odd(connection: Connection, source: LogSource) -> None:
    file = source.path.name
    if _count(connection, "said") == 0:
        raise BadInput(f"{file}: there is no query in it; a log has at least one row")
    bad = "query IS NULL OR trim(CAST(query AS VARCHAR)) = ''"
    for n, *_ in connection.execute(f"SELECT min(n) FROM said WHERE {bad} HAVING count(*) > 0").fetchall():
        raise BadInput(f"{file}, row {n}: has no query id; every row needs one")
    odd = "SELECT n, odd FROM said WHERE odd IS NOT NULL ORDER BY n LIMIT 1"
    for n, name in connection.execute(odd).fetchall():
        raise BadInput(f"{file}, row {n}: {name} is not a number; fix it")


def _refuse_contradiction(connection: Connection, source: LogSource) -> None:
    """Rows with the same id are one release: a cache has given the same answer again."""
    same = (*map(_name, LOG_FIELDS), "records")
    differ = " OR ".join(f"s.{name} IS DISTINCT FROM l.{name}" for name in same)
    found = connection.execute(
        "SELECT s.n, l.n FROM said s JOIN log l ON CAST(s.query AS VARCHAR) = CAST(l.query AS VARCHAR) "
        f"WHERE s.n <> l.n AND ({differ}) ORDER BY s.n LIMIT 1"
    ).fetchall()
    for n, first in found:
        raise BadInput(
            f"{source.path.name}, row {n}: has the query id of row {first} but says something else; rows "
            "with the same id are one release, so give other releases other ids"
        )


def _count(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
