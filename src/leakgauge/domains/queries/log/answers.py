"""The answers in a query log, one row per release: their noise and their sensitivity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log import noise_families
from leakgauge.domains.queries.log.files import ANSWER, NUMBER_FIELDS, LogSource, duckdb_errors_as_bad_input
from leakgauge.mechanisms import mechanism_names
from leakgauge.support.tabular import Connection

LARGEST_EPSILON = 1e9  # epsilon of one answer
MOST_STEPS = 1_000_000  # largest bound of an answer with noise on whole numbers
_NAME_FIELDS = ("mechanism", "kind")
_TEXT_FIELDS = ("column", "where")
LOG_FIELDS = (*NUMBER_FIELDS, *_NAME_FIELDS, *_TEXT_FIELDS, ANSWER)


@dataclass(frozen=True, eq=False)
class LoggedAnswers:
    """One row for each release; rows of the log with the same query id are one release."""

    ids: npt.NDArray[Any]  # whole numbers or texts
    rows: Ints  # of the log, counted from 1
    families: tuple[noise_families.NoiseFamily, ...]  # the mechanisms that occur
    noise: Ints  # the mechanism of each answer, as a position in ``families``
    scale: Reals  # or the standard deviation, where the mechanism has one
    bound: Reals  # how much one record can change the answer: 1 for a count
    is_sum: Bits

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def forms(self) -> Ints:
        """How the privacy loss under each of the mechanisms is computed."""
        return np.array([family.form for family in self.families])

    def has_form(self, form: noise_families.LossForm) -> Bits:
        """Return which answers have a privacy loss of this form."""
        return np.asarray(self.forms == form)[self.noise]

    def where(self, chosen: Sequence[bool]) -> Bits:
        """Return which answers have one of the chosen mechanisms."""
        return np.asarray(chosen, dtype=bool)[self.noise]

    def name_of(self, answer: int) -> str:
        """Return the name of the mechanism of an answer."""
        return self.families[int(self.noise[answer])].name


def read_answers(table: dict[str, npt.NDArray[Any]], where: str) -> tuple[LoggedAnswers, int]:
    """Read the answers of a table, and count those whose scale does not match their epsilon.

    Where both are given, the scale is used and epsilon is only a label, as in a plan.
    """
    rows, columns = np.asarray(table["n"], dtype=np.int64), _LogColumns(table, where)
    families, noise = _read_noise(columns)
    is_sum = columns.choice("kind", ("count", "sum")) == 1
    for name in NUMBER_FIELDS:
        bad = columns.given(name) & ~((columns.values(name) > 0) & (columns.values(name) < np.inf))
        columns.refuse(bad, name, "must be > 0 and finite")
    columns.refuse(columns.given("delta") & ~(columns.values("delta") < 1), "delta", "must be in (0, 1)")
    columns.refuse(
        is_sum & ~columns.given("bound"), "kind", "a sum needs a bound on one record's value; add it"
    )
    columns.refuse(
        ~is_sum & columns.given("bound"), "bound", "a count has none; leave it out, or set kind = sum"
    )
    bound = np.where(is_sum, columns.values("bound"), 1.0)
    answers = LoggedAnswers(table["query"], rows, families, noise, bound, bound, is_sum)
    by_sigma = answers.where([family.by_sigma for family in families])
    without_sigma = ~by_sigma & columns.given("sigma")
    if without_sigma.any():
        known = ", ".join(
            name for name in noise_families.logged_noise_names() if noise_families.NoiseFamily(name).by_sigma
        )
        columns.refuse(without_sigma, "sigma", f"is for {known} noise; use scale or epsilon")
    whole = answers.where([family.lattice for family in families])
    uneven = whole & ~((bound == np.floor(bound)) & (bound <= MOST_STEPS))
    rule = f"must be a whole number up to {MOST_STEPS:,} under {{}} noise; use larger units"
    columns.refuse(uneven, "bound", rule, answers)
    columns.refuse(
        answers.where([not (family.known or family.bounded) for family in families]),
        "mechanism",
        "neither its best attack nor a bound on its privacy loss is known, so that nothing can be said about "
        "the records in this answer; leave it out",
    )
    scale = np.where(by_sigma & columns.given("sigma"), columns.values("sigma"), columns.values("scale"))
    by_epsilon_only = ~(columns.given("scale") | (by_sigma & columns.given("sigma")))
    columns.refuse(
        by_epsilon_only & ~columns.given("epsilon"), "epsilon", "is missing, and so is scale; add one of them"
    )
    columns.refuse(
        by_epsilon_only & by_sigma & ~columns.given("delta"),
        "epsilon",
        "of {} noise needs delta too; add delta, or use sigma",
        answers,
    )
    by_epsilon = _scale_for(answers, columns, by_epsilon_only)
    disagree = (
        ~by_epsilon_only & ~by_sigma & columns.given("epsilon") & ~np.isclose(scale, by_epsilon, rtol=1e-6)
    )
    scale = np.where(by_epsilon_only, by_epsilon, scale)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        unprotected = ~((bound / scale <= LARGEST_EPSILON) & (scale < np.inf))
    name = "epsilon" if by_epsilon_only[int(np.argmax(unprotected))] else "scale"
    columns.refuse(
        unprotected, name, f"gives no protection: epsilon of the answer is above {LARGEST_EPSILON:g}; fix it"
    )
    return replace(answers, scale=scale), int(np.count_nonzero(disagree))


def _read_noise(columns: "_LogColumns") -> tuple[tuple[noise_families.NoiseFamily, ...], Ints]:
    """Return the mechanisms that occur, and that of each answer."""
    names = mechanism_names()
    noise = columns.choice("mechanism", tuple(names), lambda: ", ".join(noise_families.logged_noise_names()))
    default, with_sigma = (
        names.index(noise_families.DEFAULT_NOISE),
        names.index(noise_families.DEFAULT_SIGMA_NOISE),
    )
    noise = np.where(noise < 0, np.where(columns.given("sigma"), with_sigma, default), noise)
    used, which = np.unique(noise, return_inverse=True)
    families = tuple(noise_families.NoiseFamily(names[place]) for place in used.tolist())
    unfit = np.array([not family.fits for family in families])[which.reshape(-1)]
    if unfit.any():
        columns.refuse(unfit, "mechanism", f"known: {', '.join(noise_families.logged_noise_names())}")
    return families, which.reshape(-1)


def _scale_for(answers: LoggedAnswers, columns: "_LogColumns", only: Bits) -> Reals:
    """Return the scale that follows from epsilon: bound / epsilon, or what the mechanism says.

    That is computed once for each different (epsilon, delta, bound), where there is no scale.
    """
    epsilon, delta = columns.values("epsilon"), columns.values("delta")
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = answers.bound / epsilon
    for place, family in enumerate(answers.families):
        if family.scale_is_ratio:
            continue
        rows = np.flatnonzero((answers.noise == place) & only)
        if not rows.size:
            continue
        stated = np.stack([epsilon[rows], delta[rows], answers.bound[rows]])
        triples, which = np.unique(stated, axis=1, return_inverse=True)
        scales = np.array([family.scale_for(*triple) for triple in triples.T.tolist()])
        scale[rows] = scales[which.ravel()]
    return scale


@dataclass(frozen=True, eq=False)
class _LogColumns:
    """The columns of a log, with checks that name the first bad row."""

    table: dict[str, npt.NDArray[Any]]
    where: str

    def given(self, name: str) -> Bits:
        return np.asarray(~np.ma.getmaskarray(self.table[name]))

    def values(self, name: str) -> Reals:
        return np.ma.filled(np.ma.asarray(self.table[name]), np.nan)

    def choice(self, name: str, known: tuple[str, ...], shown: Callable[[], str] | None = None) -> Ints:
        """Return the position of each row's value among the known ones, -1 for no value."""
        values = np.ma.asarray(self.table[name])
        positions = np.full(values.size, -1)
        left = given = self.given(name)
        for place, name_known in enumerate(known):
            if not left.any():
                break
            positions[given & (values.data == name_known)] = place
            left = given & (positions < 0)
        if left.any():
            self.refuse(left, name, f"known: {', '.join(known) if shown is None else shown()}")
        return positions

    def refuse(self, bad: Bits, name: str, rule: str, answers: LoggedAnswers | None = None) -> None:
        """Refuse bad rows; with ``answers``, the rule has a gap for the name of the row's mechanism."""
        if not bad.any():
            return
        first = int(np.argmax(bad))
        rule = rule if answers is None else rule.format(answers.name_of(first))
        value = f" = {self.table[name][first]}" if self.given(name)[first] else ""
        raise BadInput(f"{self.where}, row {self.table['n'][first]}: {name}{value}: {rule}")


@dataclass(frozen=True)
class LogTable:
    """The table ``log`` (n, query, code, records, and the fields), and how many rows repeat a release."""

    whole: bool  # whether query ids are whole numbers
    repeated: int


def create_log_table(
    connection: Connection, source: LogSource, *, long: bool, with_answers: bool = False
) -> LogTable:
    """Create the table of a log; ``long``: the log has a row for each record of a query.

    A column of answers is left alone unless the table should be ``with_answers``.
    """
    if not with_answers:
        source = replace(source, types={name: kind for name, kind in source.types.items() if name != ANSWER})
    if not source.has("query"):
        raise BadInput(
            f"{source.path.name}: no column is called 'query'; add one with the id of each query. "
            f"Found: {', '.join(source.types) or 'none'}"
        )
    whole = source.is_whole("query")
    fields = ", ".join(f"{_field(source, name)} AS {_name(name)}" for name in LOG_FIELDS)
    records = source.names["records"] if source.has("records") else "NULL"
    given = [name for name in (*NUMBER_FIELDS, ANSWER) if source.has(name)]
    bad = " ".join(f"WHEN {_not_a_number(source, name)} THEN '{name}'" for name in given)
    rows = (
        f"SELECT row_number() OVER () AS n, {source.names['query']} AS query, {records} AS records, "
        f"{fields}, CASE {bad or 'WHEN false THEN NULL'} END AS not_a_number FROM {source.sql}"
    )
    with duckdb_errors_as_bad_input(source.path):
        if long:
            same = ", ".join(_name(name) for name in LOG_FIELDS)
            rows = f"SELECT min(n) AS n, query, records, {same}, not_a_number FROM ({rows}) GROUP BY ALL"
        connection.execute(f"CREATE TABLE log_rows AS {rows}")
    _refuse_bad_rows(connection, source)
    whole = whole or _all_whole(connection)
    key = "CAST(query AS BIGINT)" if whole else "CAST(query AS VARCHAR)"
    connection.execute(
        "CREATE TABLE log AS SELECT * EXCLUDE (first), CAST(row_number() OVER (ORDER BY n) - 1 AS INTEGER) "
        f"AS code FROM (SELECT * EXCLUDE (not_a_number) REPLACE ({key} AS query), min(n) OVER "
        "(PARTITION BY query) AS first FROM log_rows) WHERE n = first ORDER BY n"
    )
    repeated = _count(connection, "log_rows") - _count(connection, "log")
    if repeated:
        _refuse_contradiction(connection, source)
    connection.execute("DROP TABLE log_rows")
    return LogTable(whole, repeated)


def fetch_noise_columns(connection: Connection) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that describe the noise of each answer."""
    names = ", ".join(_name(name) for name in (*NUMBER_FIELDS, *_NAME_FIELDS))
    return connection.execute(f"SELECT n, query, {names} FROM log ORDER BY code").fetchnumpy()


def fetch_answers(connection: Connection) -> Reals:
    """Return the numbers that were answered; NaN where there is none."""
    numbers = connection.execute("SELECT answer FROM log ORDER BY code").fetchnumpy()["answer"]
    return np.asarray(np.ma.filled(np.ma.asarray(numbers, dtype=np.float64), np.nan))


def _name(field: str) -> str:
    return f'"{field}"'


def _field(source: LogSource, name: str) -> str:
    if not source.has(name):
        return f"CAST(NULL AS {'DOUBLE' if name in (*NUMBER_FIELDS, ANSWER) else 'VARCHAR'})"
    if name in (*NUMBER_FIELDS, ANSWER):
        return f"TRY_CAST({source.number(name)} AS DOUBLE)"
    text = f"nullif(trim(CAST({source.names[name]} AS VARCHAR)), '')"
    return f"lower({text})" if name in _NAME_FIELDS else text


def _not_a_number(source: LogSource, name: str) -> str:
    text = f"trim(CAST({source.names[name]} AS VARCHAR))"
    return f"{text} <> '' AND TRY_CAST({source.number(name)} AS DOUBLE) IS NULL"


def _all_whole(connection: Connection) -> bool:
    """Return whether all query ids are texts of whole numbers."""
    number = "TRY_CAST(query AS BIGINT)"
    (positions,) = connection.execute(
        f"SELECT bool_and(coalesce(CAST({number} AS VARCHAR) = query, false)) FROM log_rows"
    ).fetchall()[0]
    return bool(positions)


def _refuse_bad_rows(connection: Connection, source: LogSource) -> None:
    file = source.path.name
    if _count(connection, "log_rows") == 0:
        raise BadInput(f"{file}: there is no query in it; add at least one row")
    bad = "query IS NULL OR trim(CAST(query AS VARCHAR)) = ''"
    for n, *_ in connection.execute(
        f"SELECT min(n) FROM log_rows WHERE {bad} HAVING count(*) > 0"
    ).fetchall():
        raise BadInput(f"{file}, row {n}: has no query id; add it")
    bad = "SELECT n, not_a_number FROM log_rows WHERE not_a_number IS NOT NULL ORDER BY n LIMIT 1"
    for n, name in connection.execute(bad).fetchall():
        raise BadInput(
            f"{file}, row {n}: {name} is not a number; fix it (write 0.5; in a file of decimal commas, 0,5)"
        )


def _refuse_contradiction(connection: Connection, source: LogSource) -> None:
    """Refuse rows with the same id but different fields: the same id means one release."""
    same = (*map(_name, LOG_FIELDS), "records")
    differ = " OR ".join(f"s.{name} IS DISTINCT FROM l.{name}" for name in same)
    positions = connection.execute(
        "SELECT s.n, l.n FROM log_rows s JOIN log l ON CAST(s.query AS VARCHAR) = CAST(l.query AS VARCHAR) "
        f"WHERE s.n <> l.n AND ({differ}) ORDER BY s.n LIMIT 1"
    ).fetchall()
    for n, first in positions:
        raise BadInput(
            f"{source.path.name}, row {n}: has the query id of row {first} but different values; rows with "
            "the same id are one release, so give different releases different ids"
        )


def _count(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
