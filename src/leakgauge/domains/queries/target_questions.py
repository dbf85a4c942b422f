"""The questions of an attacker about its targets: by ids, or by attributes where it knows no ids."""

import math
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.attribute_sets import AttributeSets, KnownSet, TargetCell
from leakgauge.domains.queries.guarantee import least_epsilon
from leakgauge.domains.queries.knowledge import KnownAttributes, KnownRecords, OracleKnowledge
from leakgauge.domains.queries.oracle import ROUNDING, SuppressBy
from leakgauge.domains.queries.query import Id, Query, QueryKind
from leakgauge.domains.queries.query_splitting import SplitQuery, TargetQuestions
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

NO_QUESTIONS = SplitQuery((), np.zeros(0))
NOT_ISOLATED = "not_isolated"
MOST_NAMED = 10  # targets in a text
_NOISE_SCALES = 7.0  # above the smallest count, so that 1 in 2,000 answers with Laplace noise is below it


class SelectBy(StrEnum):
    """How a query selects records."""

    IDS = "ids"
    PREDICATE = "predicate"  # "id" IN (...)
    ATTRIBUTES = "attributes"  # ranges of columns; the only way of an attacker who knows no ids


@dataclass(frozen=True, eq=False)
class AskedTargets:
    """Questions about the targets, and why nothing can be asked about some of them."""

    questions: TargetQuestions
    obstacles: dict[int, str] = field(default_factory=dict)  # by target
    described: str | None = None

    @property
    def event(self) -> str | None:
        """What is asked, and about which targets nothing is asked."""
        if self.described is None:
            return None
        named = [f"target {i + 1}: {reason}" for i, reason in list(self.obstacles.items())[:MOST_NAMED]]
        more = len(self.obstacles) - len(named)
        if more:
            named.append(f"{more} more targets")
        missed = f"; no predicate isolates {'; '.join(named)}" if named else ""
        return self.described + missed

    @property
    def studied(self) -> dict[str, float]:
        """The share of targets about whom nothing can be asked."""
        if self.described is None:
            return {}
        return {NOT_ISOLATED: len(self.obstacles) / len(self.questions.splits)}


def least_known(knowledge: OracleKnowledge) -> int:
    """How many known people a question needs so that it is answered with and without the target.

    Where noisy counts are compared with the smallest count, enough that hardly any answer is below it.
    """
    if knowledge.at_least is None:
        return 0
    if knowledge.suppress_by is SuppressBy.RECORDS:
        return knowledge.at_least
    return knowledge.at_least + math.ceil(_NOISE_SCALES * knowledge.noise.noise_scale)


def require_within_promise(knowledge: OracleKnowledge, n_queries: int) -> None:
    """Refuse more questions about one target than the promise of a service pays for that cannot refuse."""
    promise = knowledge.unrefused
    if promise is None:
        return
    spent = least_epsilon(knowledge.noise, n_queries, knowledge.composed_at)
    if spent > promise * (1 + ROUNDING):
        raise BadInput(
            f"queries = {n_queries}: however tightly they are composed, so many answers about a target cost "
            f"epsilon = {spent:.4g}, and challenger.promise is {promise:g}. A service without sessions "
            "(open) cannot refuse: lower queries, or state the promise of all of them"
        )


def split_questions(
    knowledge: OracleKnowledge,
    n_queries: int,
    by: SelectBy | None,
    *,
    least: int = 1,
    own_people: bool = False,
) -> AskedTargets:
    """Build questions about each target, each with another set of known people; the sets are disjoint.

    By ids there are ``n_queries`` questions, or an error. By attributes there are as many as the known people
    allow, from ``least`` to ``n_queries``. With ``own_people`` no known person is in two questions at all, so
    that refusals are about the target alone.
    """
    require_within_promise(knowledge, n_queries)
    size = max(1, least_known(knowledge))
    match _checked(knowledge, by):
        case KnownAttributes() as attributes:
            return _by_attributes(attributes, n_queries, size, least, own_people)
        case KnownRecords() as records:
            if own_people:
                _require_own_records(records, n_queries, size)
            splits = [split_query(records, i, n_queries, by) for i in range(len(records.targets))]
            return AskedTargets(TargetQuestions(tuple(splits)))
        case _:
            raise TypeError("unknown kind of knowledge")


def threshold_questions(knowledge: OracleKnowledge, by: SelectBy | None) -> AskedTargets:
    """Build one question about each target that has the smallest count only if the target is in the table."""
    assert knowledge.at_least is not None
    n_others = knowledge.at_least - 1
    match _checked(knowledge, by):
        case KnownAttributes() as attributes:
            sets = AttributeSets(attributes)
            cells = sets.target_cells()
            obstacles = _obstacles(cells)
            splits = []
            for target, cell in enumerate(cells):
                found = None
                if target not in obstacles:
                    found = (
                        sets.exact_set(n_others - cell.known.size) if cell.known.size <= n_others else None
                    )
                    if found is None:
                        obstacles[target] = f"no set of exactly {n_others} known people has its own predicate"
                splits.append(NO_QUESTIONS if found is None else _split(attributes, target, cell, [found]))
            _require_some(splits, obstacles)
            return AskedTargets(
                TargetQuestions(tuple(splits)),
                obstacles,
                f"whether a count of {n_others} known people and the target is answered",
            )
        case KnownRecords() as records:
            if len(records.ids) < n_others:
                raise BadInput(
                    f"at_least = {knowledge.at_least}: takes {n_others} known records, but the attacker "
                    f"knows {len(records.ids)}; raise knowledge.records"
                )
            rows = np.arange(n_others)
            splits = [_split_by_ids(records, [rows], i, by) for i in range(len(records.targets))]
            return AskedTargets(TargetQuestions(tuple(splits)))
        case _:
            raise TypeError("unknown kind of knowledge")


def single_questions(knowledge: OracleKnowledge) -> AskedTargets:
    """Build one predicate about each target: alone, or with as many known people as an answer takes."""
    n_others = least_known(knowledge)
    match knowledge:
        case KnownAttributes() as attributes if n_others:
            return _by_attributes(attributes, 1, n_others, 1, own_people=False)
        case KnownAttributes() as attributes:
            cells = AttributeSets(attributes).target_cells()
            obstacles, alone = _obstacles(cells), KnownSet((), np.zeros(0, dtype=np.int64))
            splits = [
                NO_QUESTIONS if i in obstacles else _split(attributes, i, cell, [alone])
                for i, cell in enumerate(cells)
            ]
            _require_some(splits, obstacles)
            return AskedTargets(
                TargetQuestions(tuple(splits)), obstacles, "a question about the target alone"
            )
        case KnownRecords() as records:
            require_records(records, 1, n_others)
            rows = [np.arange(n_others)]
            splits = [
                _split_by_ids(records, rows, i, SelectBy.PREDICATE) for i in range(len(records.targets))
            ]
            return AskedTargets(TargetQuestions(tuple(splits)))
        case _:
            raise TypeError("unknown kind of knowledge")


def _checked(knowledge: OracleKnowledge, by: SelectBy | None) -> OracleKnowledge:
    """Refuse a way of selection that the attacker's knowledge does not allow."""
    if by is None or (by is SelectBy.ATTRIBUTES) == isinstance(knowledge, KnownAttributes):
        return knowledge
    name, fitting = ("attributes", "attributes") if by is not SelectBy.ATTRIBUTES else ("known", "ids")
    raise BadInput(
        f"by = {by.value!r}: an attacker with knowledge {name!r} selects records by {fitting}; leave by out"
    )


def split_query(known: KnownRecords, target: int, n_queries: int, by: SelectBy | None = None) -> SplitQuery:
    """Build ``n_queries`` queries by ids, each about the target and other known records.

    There is one known record in each, or as many as the service takes to answer. The known records of one
    target differ; those of different targets differ while there are enough. Theorem 2 of Huang et al.
    requires more than ``n_queries`` known records; ``n_queries`` are enough.
    """
    if not n_queries >= 1:
        raise BadInput(f"queries must be >= 1, got {n_queries}")
    size = max(1, least_known(known))
    require_records(known, n_queries, size)
    n_sets = len(known.ids) // size
    places = (target * n_queries + np.arange(n_queries)) % n_sets
    return _split_by_ids(known, [place * size + np.arange(size) for place in places], target, by)


def _split_by_ids(known: KnownRecords, sets: list[Ints], target: int, by: SelectBy | None) -> SplitQuery:
    name = known.targets[target]
    queries = tuple(question_about_ids(known, (*(known.ids[row] for row in rows), name), by) for rows in sets)
    return _without_known_part(known, target, queries, sets)


def _without_known_part(
    known: OracleKnowledge, target: int, queries: tuple[Query, ...], sets: list[Ints]
) -> SplitQuery:
    """Compute what the answers would be without the target: of the known people, in the target's group."""
    group = None if known.target_groups is None else int(known.target_groups[target])
    values = known.values if group is None else known.values[:, group]
    sums = np.array([values[rows].sum() for rows in sets])
    if known.query.kind is not QueryKind.AVERAGE:
        return SplitQuery(queries, sums, group)
    counts_of = known.counts if group is None else known.counts[:, group]
    counts = np.array([counts_of[rows].sum() for rows in sets])
    without = sums / np.maximum(counts, 1.0)
    shifts = (sums + known.shifts[target]) / (counts + known.target_counts[target]) - without
    return SplitQuery(queries, without, group, shifts, (sums, counts))


def question_about_ids(known: KnownRecords, ids: tuple[Id, ...], by: SelectBy | None) -> Query:
    """Return the audited query about the records with these ids, selected by ids or by a predicate."""
    if by is not SelectBy.PREDICATE:
        return known.query.on(ids)
    column = quote_identifier(known.id_column)
    if len(ids) == 1:
        return known.query.such_that(f"{column} = {quote_literal(ids[0])}")
    return known.query.such_that(f"{column} IN ({', '.join(map(quote_literal, ids))})")


def _by_attributes(
    known: KnownAttributes, n_queries: int, size: int, least: int, own_people: bool
) -> AskedTargets:
    if not n_queries >= 1:
        raise BadInput(f"queries must be >= 1, got {n_queries}")
    people = AttributeSets(known)
    cells = people.target_cells()
    obstacles = _obstacles(cells)
    if own_people:
        obstacles |= {
            i: "known people have the same values, and would be charged with it"
            for i, cell in enumerate(cells)
            if i not in obstacles and cell.known.size
        }
    n_asked = len(cells) - len(obstacles)
    if not n_asked:
        _require_some([NO_QUESTIONS] * len(cells), obstacles)
    sets = people.disjoint_sets(size, n_asked * n_queries)
    if own_people and len(sets) < n_asked * n_queries:
        raise BadInput(
            f"queries = {n_queries}: refusals identify targets only if every query has its own known people, "
            f"which takes {n_asked * n_queries} sets, but predicates separate {len(sets)}; "
            + more_records_advice(known)
        )
    if len(sets) < least:
        raise BadInput(
            f"needs disjoint sets of {size} known people, at least {least}; predicates over {_listed(known)} "
            f"separate {len(sets)} from others, of the {len(known.people)} people whom the attacker knows; "
            "raise records or add columns to its knowledge, or lower at_least"
        )
    n, splits = min(n_queries, len(sets)), []
    for i, cell in enumerate(cells):
        places = (i * n + np.arange(n)) % len(sets)
        chosen = [sets[place] for place in places.tolist()]
        splits.append(NO_QUESTIONS if i in obstacles else _split(known, i, cell, chosen))
    sizes = [one.rows.size for one in sets]
    about = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    return AskedTargets(
        TargetQuestions(tuple(splits)),
        obstacles,
        f"{n} {'question' if n == 1 else 'questions'} about each target with {about} known people",
    )


def _split(known: KnownAttributes, target: int, cell: TargetCell, sets: list[KnownSet]) -> SplitQuery:
    """Build the questions that select a target by its attributes together with each set."""
    queries = []
    for one in sets:
        either = " OR ".join(f"({box})" for box in (cell.box, *one.boxes))
        where = either if known.query.where is None else f"({known.query.where}) AND ({either})"
        queries.append(known.query.such_that(where))
    rows = [np.concatenate([cell.known, one.rows]) for one in sets]
    return _without_known_part(known, target, tuple(queries), rows)


def _obstacles(cells: tuple[TargetCell, ...]) -> dict[int, str]:
    return {i: cell.obstacle for i, cell in enumerate(cells) if not cell.isolated}


def _require_some(splits: list[SplitQuery], obstacles: dict[int, str]) -> None:
    """Refuse an attack that can ask about no target at all."""
    if any(split.queries for split in splits):
        return
    named = AskedTargets(TargetQuestions(tuple(splits)), obstacles, "").event or ""
    raise BadInput(
        f"nothing can be asked about any target{named}; add columns to the attacker's knowledge, or raise "
        "records"
    )


def _listed(known: KnownAttributes) -> str:
    return ", ".join(map(repr, known.people.types))


def more_records_advice(known: OracleKnowledge) -> str:
    """Return the advice in errors about too few known people."""
    return f"lower queries, or {'widen challenger.query' if known.whole else 'raise knowledge.records'}"


def require_records(known: KnownRecords, n_queries: int, size: int) -> None:
    """Refuse an attack that needs ``size`` known records for each query, and does not have them."""
    if len(known.ids) >= n_queries * size:
        return
    needed = "as many known records" if size == 1 else f"{n_queries * size} known records"
    raise BadInput(
        f"queries = {n_queries}: needs {needed} that the query selects, but the attacker "
        f"knows {len(known.ids)}; {more_records_advice(known)}"
    )


def _require_own_records(known: KnownRecords, n_queries: int, size: int) -> None:
    """Refuse attacks by refusals if a known record occurs in two queries and could cause the refusal."""
    needed = n_queries * size * len(known.targets)
    if len(known.ids) < needed:
        raise BadInput(
            f"queries = {n_queries}: refusals identify targets only if every query has its own known record, "
            f"which takes {needed} records, but the attacker knows {len(known.ids)}; "
            + more_records_advice(known)
        )
