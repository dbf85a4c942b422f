"""The tables of a plan about a query oracle, as frozen values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.opendp_noise import read_opendp
from leakgauge.domains.queries.oracle_rules import AnswerCache, OracleNoise, OracleRules
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support import target_choice
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.target_choice import expand_targets

COUNT_ALL = Query()  # of all records
SERVICE_KEYS = ("service", "own_service")  # keys that have a service asked instead of this process
HERE = Path()
OPENDP = "opendp"


class QueriesTargetOrder(StrEnum):
    """Which records become targets, of those that the query selects and that can move its answer."""

    RANDOM = "random"
    MOST = "most"  # those that move the answer most


@dataclass(frozen=True, kw_only=True)
class QueriesTargetsTable(target_choice.TargetChoice):
    """Records, by their ids where they are named."""

    choose: QueriesTargetOrder = QueriesTargetOrder.RANDOM

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names and self.choose is not QueriesTargetOrder.RANDOM:
            raise BadInput("names say who the targets are; leave out choose")


@dataclass(frozen=True, kw_only=True)
class QueriesChallengerTable:
    """What is asked about whom, and how the oracle keeps its accounts.

    ``promise`` is the epsilon that the owner states where refusals promise nothing by themselves. With a
    ``service``, the rest says how that keeps its accounts.
    """

    targets: QueriesTargetsTable = QueriesTargetsTable()
    query: Query = COUNT_ALL
    budget: float | None = None
    accountant: str = "sequential"
    cache: AnswerCache = AnswerCache.CANONICAL
    promise: float | None = None
    service: QueriesServiceTable | None = None
    own_service: bool = False

    def __post_init__(self) -> None:
        if self.query.ids is not None:
            raise BadInput("query.ids: attacks choose the ids; leave them out, or narrow by query.where")
        if self.promise is not None and not 0 < self.promise < math.inf:
            raise BadInput(f"promise must be > 0 and finite, got {self.promise}; leave it out for none")
        if self.service is not None:
            self._require_fitting(self.service)

    def _require_fitting(self, service: QueriesServiceTable) -> None:
        """Refuse a service that is not the owner's, or in which rounds would not be independent."""
        if not self.own_service:
            raise BadInput(
                "service: only your own service may be questioned; if it is yours, say own_service = true"
            )
        if service.by_world and self.targets.how_many > 1:
            raise BadInput(
                f"service: {{world}} tells of one target, but there are {self.targets.how_many}; use "
                "{absent}, or targets = 1"
            )
        if service.open is None and (self.cache is not AnswerCache.NONE or self.budget is not None):
            raise BadInput(
                "service: without open, all rounds share what the service keeps, so that with a cache or a "
                'budget they are not independent; have it keep none and say cache = "none", or add open'
            )


def read_challenger_table(table: Mapping[str, Any]) -> QueriesChallengerTable:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read_dataclass(QueriesChallengerTable, expand_targets(table), "challenger")


def mechanism_lines() -> dict[str, str | None]:
    """Name the noise that one answer can have: all mechanisms that add noise, and measurements of OpenDP."""
    return dict.fromkeys((*mechanism_names(adds_noise), OPENDP))


def read_oracle_rules(
    mechanism: Mapping[str, Any], setting: QueriesChallengerTable, folder: Path = HERE
) -> OracleRules:
    """Read the noise of one answer, and join it with what the challenger's table says."""
    noise = _noise(mechanism, setting.query.sensitivity, folder)
    try:
        rules = OracleRules(
            noise=noise, accountant=setting.accountant, cache=setting.cache, budget=setting.budget
        )
    except BadInput as error:
        said = str(error)
        raise BadInput(said if said.startswith("challenger.") else f"challenger: {said}") from None
    if setting.promise is not None and rules.bounded:
        raise BadInput(
            f"challenger.promise: follows from budget under {setting.accountant!r}; leave one of the two out"
        )
    return rules


def _noise(mechanism: Mapping[str, Any], sensitivity: float, folder: Path) -> OracleNoise:
    """Build the noise; what one record can move follows from the query. ``folder`` is the plan's."""
    said, names = dict(mechanism), list(mechanism_lines())
    if "name" not in said:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join(names)}")
    name = said.pop("name")
    require_known(name, names, "mechanism: none")
    for key, way_out in {
        "sensitivity": "it follows from challenger.query; leave it out",
        "relation": "a record is added or removed; leave it out",
        "unit": "the game is about a record; leave it out",
    }.items():
        if key in said:
            raise BadInput(f"mechanism {name!r}: {key} is not yours to say: {way_out}")
    if name == OPENDP:
        return read_opendp(said, sensitivity, folder, lambda law: _noise(law, sensitivity, folder))
    return read_dataclass(mechanism_class(name), {**said, "sensitivity": sensitivity}, f"mechanism {name!r}")


MOST_RECORDS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class QueriesSyntheticTable:
    """How many people: each with an id, an age, an income in thousands, a region, and whether they smoke."""

    records: int = 1_000

    def __post_init__(self) -> None:
        if not 1 <= self.records <= MOST_RECORDS:
            raise BadInput(f"records must be in 1..{MOST_RECORDS}, got {self.records}")


@dataclass(frozen=True, kw_only=True)
class QueriesFileTable:
    """A file of records, and the column of their ids: ``id`` if there is one, else rows count from 0."""

    source: str
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class QueriesKnowledgeTable:
    """How many records an attacker knows; all others, if nothing is said."""

    records: int | None = None

    def __post_init__(self) -> None:
        if self.records is not None and not self.records >= 0:
            raise BadInput(f"records must be >= 0, got {self.records}")
