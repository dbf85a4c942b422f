"""The tables of a plan about a query oracle, as frozen values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.opendp_noise import read_opendp
from leakgauge.domains.queries.oracle import AnswerCache, OracleNoise, OracleRules, SuppressBy
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable
from leakgauge.mechanisms import gaussian, laplace, mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support import target_choice
from leakgauge.support.table_reader import convert_value, read_dataclass, require_known
from leakgauge.support.tabular import TextFormat

COUNT_ALL = Query()  # of all records
SERVICE_KEYS = ("service", "own_service")  # with these keys a service answers instead of this process
PUBLICATION_KEYS = ("round", "clamp")  # of a mechanism's table: how noisy answers are published
HERE = Path()
OPENDP = "opendp"
MOST_RECORDS = 10_000_000


class QueriesTargetOrder(StrEnum):
    """Which of the records that the query selects, and that change its answer, become targets."""

    RANDOM = "random"
    MOST = "most"  # those that change the answer most


@dataclass(frozen=True, kw_only=True)
class QueriesTargetsTable(target_choice.TargetChoice):
    """The targets: how many and how chosen, or named by their ids."""

    choose: QueriesTargetOrder = QueriesTargetOrder.RANDOM

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names and self.choose is not QueriesTargetOrder.RANDOM:
            raise BadInput("names already lists the targets; leave out choose")


@dataclass(frozen=True, kw_only=True)
class QueriesChallengerTable:
    """The query of the audit, the targets, and the accounting of the oracle.

    ``promise`` is an epsilon stated by the owner, for oracles whose refusals give no guarantee. With a
    ``delta``, answers are composed tightly at it, and the budget or promise holds with it. Counts below
    ``at_least`` are not answered. With a ``service``, the accounting keys describe that service.
    """

    targets: QueriesTargetsTable = QueriesTargetsTable()
    query: Query = COUNT_ALL
    budget: float | None = None
    delta: float | None = None
    accountant: str = "sequential"
    cache: AnswerCache = AnswerCache.CANONICAL
    at_least: int | None = None
    suppress_by: SuppressBy = SuppressBy.RECORDS
    promise: float | None = None
    service: QueriesServiceTable | None = None
    own_service: bool = False

    def __post_init__(self) -> None:
        if self.query.ids is not None:
            raise BadInput("query.ids: attacks choose the ids; leave it out, or use query.where")
        if self.promise is not None and not 0 < self.promise < math.inf:
            raise BadInput(f"promise must be > 0 and finite, got {self.promise}; leave it out for none")
        if self.delta is not None and self.budget is None and self.promise is None:
            raise BadInput("delta: belongs to a budget or a promise; add one of them, or leave it out")
        if self.suppress_by is SuppressBy.ANSWER:
            self._require_noisy_threshold()
        if self.query.group_by is not None and self.at_least is not None:
            raise BadInput("at_least: attacks on grouped answers do not respect it; leave out query.group_by")
        if self.service is not None:
            self._require_fitting(self.service)

    @property
    def without_sessions(self) -> bool:
        """Whether a service has two copies of the table and no sessions, so that it can refuse nothing."""
        return self.service is not None and self.service.open is None

    def _require_noisy_threshold(self) -> None:
        if self.at_least is None:
            raise BadInput('suppress_by = "answer": there is no smallest count; add at_least = ...')
        if self.query.kind is not QueryKind.COUNT:
            raise BadInput(
                f'suppress_by = "answer": a {self.query.kind} is no count that could be compared with '
                'at_least; use suppress_by = "records"'
            )

    def _require_fitting(self, service: QueriesServiceTable) -> None:
        """Refuse a service that is not the owner's, or in which rounds would not be independent."""
        if not self.own_service:
            raise BadInput(
                "service: only your own service may be queried; if it is yours, set own_service = true"
            )
        if service.by_world and self.targets.how_many > 1:
            raise BadInput(
                f"service: {{world}} describes one target, but there are {self.targets.how_many}; use "
                "{absent}, or targets = 1"
            )
        if service.open is None and (self.cache is not AnswerCache.NONE or self.budget is not None):
            raise BadInput(
                "service: without open, all rounds share the state of the service, so that with a cache or a "
                'budget they are not independent; turn both off and set cache = "none", or add open'
            )


def read_challenger_table(table: Mapping[str, Any]) -> QueriesChallengerTable:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read_dataclass(QueriesChallengerTable, target_choice.expand_targets(table), "challenger")


def mechanism_lines() -> dict[str, str | None]:
    """Return the names of the possible noise: all mechanisms that add noise, and OpenDP measurements."""
    return dict.fromkeys((*mechanism_names(adds_noise), OPENDP))


def read_oracle_rules(
    mechanism: Mapping[str, Any],
    table: QueriesChallengerTable,
    folder: Path = HERE,
    rows_per_person: int | None = None,
) -> OracleRules:
    """Read the noise of one answer, and combine it with the accounting in the challenger's table."""
    stated = {name: value for name, value in mechanism.items() if name not in PUBLICATION_KEYS}
    noise = _noise(stated, table.query.sensitivity * (rows_per_person or 1), folder)
    if table.query.kind is QueryKind.AVERAGE and not isinstance(
        noise, laplace.Mechanism | gaussian.Mechanism
    ):
        raise BadInput("mechanism: an average takes laplace or gaussian noise; change one of the two")
    published = {
        name: convert_value(bool, mechanism[name], f"mechanism.{name}")
        for name in PUBLICATION_KEYS
        if name in mechanism
    }
    try:
        rules = OracleRules(
            noise=noise,
            accountant=table.accountant,
            cache=table.cache,
            budget=table.budget,
            delta=table.delta,
            **published,
            at_least=table.at_least,
            suppress_by=table.suppress_by,
            rows_per_person=rows_per_person,
        )
    except BadInput as error:
        message = str(error)
        prefixed = message if message.startswith("challenger.") else f"challenger: {message}"
        raise BadInput(prefixed) from None
    if table.promise is not None and rules.bounded:
        raise BadInput(
            f"challenger.promise: follows from budget under {table.accountant!r}; leave one of the two out"
        )
    return rules


def _noise(mechanism: Mapping[str, Any], sensitivity: float, folder: Path) -> OracleNoise:
    """Build the noise; its sensitivity follows from the query. ``folder`` is the folder of the plan."""
    parameters, names = dict(mechanism), list(mechanism_lines())
    if "name" not in parameters:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join(names)}")
    name = parameters.pop("name")
    require_known(name, names, "mechanism: none")
    for key, way_out in {
        "sensitivity": "it follows from challenger.query; leave it out",
        "relation": "a record is added or removed; leave it out",
        "unit": "the game is about a record; leave it out",
    }.items():
        if key in parameters:
            raise BadInput(f"mechanism {name!r}: {key} cannot be set: {way_out}")
    if name == OPENDP:
        return read_opendp(parameters, sensitivity, folder, lambda law: _noise(law, sensitivity, folder))
    return read_dataclass(
        mechanism_class(name), {**parameters, "sensitivity": sensitivity}, f"mechanism {name!r}"
    )


@dataclass(frozen=True, kw_only=True)
class QueriesSyntheticTable:
    """Synthetic people: each has an id, an age, an income in thousands, a region, and smokes or not.

    With ``rows_per_person`` each of them has between one and that many rows, which differ in income, and
    ``person`` is the column with their names.
    """

    records: int = 1_000
    person: str | None = None
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        _require_persons(self.person, self.rows_per_person)
        if not 1 <= self.records <= MOST_RECORDS:
            raise BadInput(f"records must be in 1..{MOST_RECORDS}, got {self.records}")


@dataclass(frozen=True, kw_only=True)
class QueriesFileTable(TextFormat):
    """A file of records and its id column: by default ``id``, or else row numbers from 0.

    ``person`` is a column of people who may have several rows, of which the first ``rows_per_person`` count.
    """

    source: str
    id: str | None = None
    person: str | None = None
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        _require_persons(self.person, self.rows_per_person)
        if self.person is not None and self.id is not None:
            raise BadInput("id: the game is about whole people; leave it out, or leave out person")


def rows_per_person(data: Mapping[str, Any]) -> int | None:
    """Return the bound on the rows of one person, which is checked when the data are read."""
    found = data.get("rows_per_person")
    return found if isinstance(found, int) and found >= 1 else None


def _require_persons(person: str | None, rows_per_person: int | None) -> None:
    if (person is None) != (rows_per_person is None):
        raise BadInput(
            "person and rows_per_person belong together: without a bound on the rows of one person, no noise "
            "is enough; set both or none"
        )
    if rows_per_person is not None and not rows_per_person >= 1:
        raise BadInput(f"rows_per_person must be >= 1, got {rows_per_person}")


@dataclass(frozen=True, kw_only=True)
class QueriesKnowledgeTable:
    """How many records an attacker knows; by default all records that are not targets."""

    records: int | None = None

    def __post_init__(self) -> None:
        if self.records is not None and not self.records >= 0:
            raise BadInput(f"records must be >= 0, got {self.records}")


@dataclass(frozen=True, kw_only=True)
class QueriesAttributesTable(QueriesKnowledgeTable):
    """Whom an attacker knows and which columns of them; ids are never among them.

    By default it knows all columns and everybody but the targets. ``where`` restricts whom it knows. With a
    ``register`` it also knows which combinations of these columns other people of the table have, without
    knowing those people; otherwise it takes for granted that nobody else has those of the people it knows.
    """

    columns: tuple[str, ...] | None = None
    where: str | None = None
    register: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None and not self.columns:
            raise BadInput("columns: at least one is needed; leave it out for all columns")
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            raise BadInput("columns: a column is named twice; remove it")
