"""What an attacker of a query oracle knows; attacks receive nothing else."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Transcript
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries import DOMAIN
from leakgauge.domains.queries.attributes import AttributeTable, attributes_of
from leakgauge.domains.queries.challenger import Challenger
from leakgauge.domains.queries.data import KNOWN_STREAM
from leakgauge.domains.queries.oracle import OracleNoise, SuppressBy
from leakgauge.domains.queries.plan_tables import QueriesAttributesTable, QueriesKnowledgeTable
from leakgauge.domains.queries.query import Id, Query, QueryKind
from leakgauge.domains.queries.release import QueriesBlock, QueriesView
from leakgauge.support.table_reader import read_dataclass, require_known

KNOWN, ATTRIBUTES = "known", "attributes"


@dataclass(frozen=True, eq=False, kw_only=True)
class OracleKnowledge:
    """The rules of the oracle, and what known people and targets contribute to an answer, 1 in a count."""

    query: Query  # the query that is audited; its ``where`` selects every target
    noise: OracleNoise  # of one answer to it
    epsilon: float  # of one answer
    budget: float | None
    accountant: str
    cache: str
    at_least: int | None = None  # smaller counts are not answered
    suppress_by: SuppressBy = SuppressBy.RECORDS
    values: Reals  # contribution of each known person (x groups)
    counts: Reals  # how many records of each known person are in an answer (x groups)
    shifts: Reals  # contribution of each target, in its group
    target_counts: Reals  # how many records of each target are in an answer, in its group
    target_groups: Ints | None = None  # where the answer has groups: the one that a target changes most
    count_noise: OracleNoise | None = None  # of the count that divides an average; ``noise`` is of its sum
    composed_at: float = 0.0  # the delta at which answers are composed
    unrefused: float | None = None  # the promise of a service that cannot refuse, where one is stated
    whole: bool  # whether everybody whom the query selects is known, except the targets

    @property
    def refuses_by_true_count(self) -> bool:
        """Whether a refusal reveals that the true count is below ``at_least``."""
        return self.at_least is not None and self.suppress_by is SuppressBy.RECORDS

    def view(self, block: QueriesBlock) -> QueriesView:
        return QueriesView(len(block.members), block)

    def spent(self, view: QueriesView) -> dict[str, Reals]:
        """Return the epsilon obtained about each target, and the epsilon that accountants record.

        ``believed`` is that of the accountant in charge; all accountants follow by name. ``reported`` is what
        a service itself says, where it does.
        """
        oracle = view._oracle  # noqa: SLF001 (hidden from attacks, not from here)
        believed = {name: epsilon[:, None] for name, epsilon in oracle.believed.items()}
        reported = {} if oracle.reported is None else {"reported": oracle.reported[:, None]}
        return {"obtained": oracle.obtained, "believed": believed[self.accountant], **reported, **believed}

    def transcript(self, view: QueriesView) -> Transcript:
        """Return every question and answer, beside the true answers."""
        return view._oracle.transcript()  # noqa: SLF001 (hidden from attacks, not from here)


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownRecords(OracleKnowledge):
    """Knows the ids of records that are certainly in the table, and those of the targets."""

    id_column: str
    ids: tuple[Id, ...]
    targets: tuple[Id, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownAttributes(OracleKnowledge):
    """Knows some columns of people who are certainly in the table, and those of the targets; no ids.

    ``strangers`` has the same columns of everybody else whom the query selects, as from a register of the
    population, but not who they are. Without it the attacker does not know whether somebody else has the
    attributes of the people it knows, and takes for granted that nobody has.
    """

    people: AttributeTable
    target_attributes: AttributeTable
    strangers: AttributeTable | None


def build(name: str, parameters: dict[str, Any], challenger: Challenger, seed: int) -> OracleKnowledge:
    """Build the knowledge of an attacker; fewer known people are a subset of more."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    where = f"knowledge {name!r}"
    if name == ATTRIBUTES:
        table = read_dataclass(QueriesAttributesTable, parameters, where)
        return _known_attributes(table, challenger, seed, where)
    rows = _known_rows(
        read_dataclass(QueriesKnowledgeTable, parameters, where), None, challenger, seed, where
    )
    records, targets = challenger.table.records, challenger.table.targets
    return KnownRecords(
        **_rules_and_values(challenger, rows),
        id_column=records.id_column,
        ids=tuple(records.ids[row] for row in rows.tolist()),
        targets=tuple(records.ids[row] for row in targets.tolist()),
    )


def _known_attributes(
    table: QueriesAttributesTable, challenger: Challenger, seed: int, where: str
) -> KnownAttributes:
    records, targets = challenger.table.records, np.asarray(challenger.table.targets)
    if records.rows_per_person is not None:
        raise BadInput(
            f"{where}: predicates over attributes select rows, and people may have several; use knowledge "
            f"{KNOWN!r}, or leave out data.person"
        )
    names = [name for name in records.types if name != records.id_column]
    for column in table.columns or ():
        if column == records.id_column:
            raise BadInput(f"{where}: columns: {column!r} is the id of a record; use knowledge {KNOWN!r}")
        require_known(column, names, f"{where}: columns: no column")
    if table.columns is not None:
        names = list(table.columns)
    if not names:
        raise BadInput(f"{where}: the table has no column besides {records.id_column!r}; add one")
    rows = _known_rows(table, table.where, challenger, seed, where)
    strangers = np.setdiff1d(challenger.table.ask(challenger.query).others, rows)
    return KnownAttributes(
        **_rules_and_values(challenger, rows),
        people=attributes_of(records, names, rows),
        target_attributes=attributes_of(records, names, targets),
        strangers=attributes_of(records, names, strangers) if table.register or not strangers.size else None,
    )


def _known_rows(
    table: QueriesKnowledgeTable, group: str | None, challenger: Challenger, seed: int, where: str
) -> Ints:
    """Draw the rows that an attacker knows from those that the query selects, and that are in its group."""
    selected = challenger.table.ask(challenger.query).other_units
    if group is not None:
        try:
            in_group = challenger.table.ask(Query(where=group)).others
        except BadInput as error:
            raise BadInput(f"{where}: where: {error}") from None
        selected = np.intersect1d(selected, in_group)
    n_known = selected.size if table.records is None else table.records
    if n_known > selected.size:
        raise BadInput(
            f"{where}: records = {n_known}, but the query selects {selected.size} records besides "
            f"the targets{'' if group is None else ' among those of where'}; lower it"
        )
    return stream(seed, Role.DATA, KNOWN_STREAM).permutation(selected)[:n_known]


def _rules_and_values(challenger: Challenger, rows: Ints) -> dict[str, Any]:
    """The fields that all attackers have."""
    rules, records, query = challenger.rules, challenger.table.records, challenger.query
    targets = np.asarray(challenger.table.targets)
    shifts, counts = (records.unit_values(one, targets) for one in (query, query.counted))
    groups = None
    if query.group_by is not None:
        groups = np.abs(shifts).argmax(axis=1)
        shifts, counts = (values[np.arange(targets.size), groups] for values in (shifts, counts))
    return {
        "target_groups": groups,
        "target_counts": counts,
        "count_noise": rules.count_noise_of(query) if query.kind is QueryKind.AVERAGE else None,
        "query": query,
        "noise": rules.noise_of(query),
        "epsilon": rules.epsilon,
        "budget": rules.budget,
        "accountant": rules.accountant,
        "cache": rules.cache.value,
        "at_least": rules.at_least,
        "composed_at": rules.composed_at,
        "unrefused": challenger.unrefused_promise,
        "suppress_by": rules.suppress_by,
        "values": records.unit_values(query, rows),
        "counts": records.unit_values(query.counted, rows),
        "shifts": shifts,
        "whole": rows.size == challenger.table.ask(query).other_units.size,
    }
