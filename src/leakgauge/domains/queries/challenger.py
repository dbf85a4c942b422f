"""A table with the targets in or out, behind an oracle that answers noisy queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import NOISE_ERROR, ChallengerDefaults, Coins, NoControl, RequestLimits
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries import plan_tables
from leakgauge.domains.queries.data import TARGETS_STREAM, load_records
from leakgauge.domains.queries.guarantee import oracle_guarantee
from leakgauge.domains.queries.opendp_noise import opendp_notes
from leakgauge.domains.queries.oracle import FaintNoiseRules, OracleRules
from leakgauge.domains.queries.query import Id, Query, QueryKind
from leakgauge.domains.queries.records import OracleRecords, OracleTable
from leakgauge.domains.queries.release import QueriesBlock
from leakgauge.domains.queries.remote.auditor_questions import further_requests, requests_once
from leakgauge.domains.queries.remote.control_oracle import (
    CONTROL_CAVEAT,
    LEAST_SCALES,
    ControlQuestions,
    RemoteControlBlock,
)
from leakgauge.domains.queries.remote.http_client import missing_token
from leakgauge.domains.queries.remote.plan_tables import ControlKind, QueriesServiceTable
from leakgauge.domains.queries.remote.remote_oracle import RemoteQueriesBlock, ServiceAdapter
from leakgauge.domains.queries.remote.request_count import CountedQueriesBlock
from leakgauge.mechanisms import name_of, opendp
from leakgauge.support.target_choice import rows_by_name

TARGETS_KEY = "challenger.targets"
SERVICE_NOTE = "answers of a service: the same seed does not give the same answers again"

_ERROR_DRAWS, _ERROR_STREAM = 400_000, 50  # of the mean error of an answer


def choose_targets(
    records: OracleRecords, query: Query, wanted: plan_tables.QueriesTargetsTable, rng: Generator
) -> Ints:
    """Draw or look up the targets: records that the query selects and that change its answer."""
    selected = records.rows(records.condition(query))
    if query.group_by is not None:
        selected = selected[records.groups(query, selected) >= 0]
    selected = records.units(selected)
    if wanted.names:
        return _named_targets(records, query, wanted.names, selected)
    values = _strengths(records, query, selected)
    candidates, weights = selected[values != 0], np.abs(values[values != 0])
    if candidates.size < wanted.how_many:
        raise BadInput(
            f"{TARGETS_KEY}: {wanted.how_many} wanted, but the query selects {candidates.size} records that "
            "change its answer; lower n, or change query"
        )
    order = rng.permutation(candidates.size)
    if wanted.choose is plan_tables.QueriesTargetOrder.MOST:
        order = order[np.argsort(-weights[order], kind="stable")]
    return np.sort(candidates[order[: wanted.how_many]])


def _strengths(records: OracleRecords, query: Query, units: Ints) -> Reals:
    """Return what each unit contributes to an answer, or to the group to which it contributes most."""
    values = records.unit_values(query, units)
    if values.ndim == 1:
        return values
    return np.take_along_axis(values, np.abs(values).argmax(axis=1)[:, None], axis=1)[:, 0]


def _named_targets(records: OracleRecords, query: Query, names: Sequence[Id], selected: Ints) -> Ints:
    """Return the rows of the ids that the owner has named, in that order."""
    known, names_as_text = {str(name): row for name, row in records.row_of.items()}, list(map(str, names))
    rows = rows_by_name(names_as_text, known, f"{TARGETS_KEY}.names", _no_such_record)
    for name, row in zip(names_as_text, rows.tolist()):
        if row not in selected:
            raise BadInput(
                f"{TARGETS_KEY}.names: query.where = {query.where!r} does not select {name!r}, so that "
                "no answer depends on that record; change one of them"
            )
    unchanged = [name for name, value in zip(names_as_text, _strengths(records, query, rows)) if value == 0]
    if unchanged:
        raise BadInput(
            f"{TARGETS_KEY}.names: {query.column!r} of {unchanged[0]!r} is 0, so that no answer depends on "
            "that record; remove it"
        )
    return rows


def _no_such_record(name: str) -> str:
    return f"no record has the id {name!r}; fix or remove it"


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Owns the table; in each round every target is in it with probability 1/2, all other records always.

    With an ``adapter``, a service that also holds the table answers instead of this process.
    """

    table: OracleTable
    rules: OracleRules
    query: Query  # the query that is audited
    guarantee: Guarantee | None
    digest: str
    notes: tuple[str, ...] = ()  # about the data, for reports; without personal values
    adapter: ServiceAdapter | None = None
    control_questions: ControlQuestions | None = None  # of the positive control of a service
    rehearsed: QueriesServiceTable | None = None  # the service in whose place this process answers

    coins = Coins.FAIR

    @property
    def n_targets(self) -> int:
        return int(self.table.targets.size)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    @property
    def targets_digest(self) -> str:
        """Of the records, and which of them are targets."""
        identity = f"{self.table.records.digest}\n{self.table.targets.tolist()}"
        return sha256(identity.encode()).hexdigest()

    @property
    def most_workers(self) -> int | None:
        """One worker if a service is queried, so that its rate and total are kept; otherwise no limit."""
        return None if self.adapter is None else 1

    @property
    def request_limits(self) -> RequestLimits | None:
        """What the plan still allows to send to the service."""
        if self.adapter is None:
            return None
        service = self.adapter.service
        return RequestLimits(
            total=service.total,
            left=service.total - self.adapter.sent,
            rate=service.rate,
            beyond=partial(further_requests, self.rules, service.requests_per_session),
            once=requests_once(self.rules, service.requests_per_session, service.total),
        )

    @property
    def unrefused_promise(self) -> float | None:
        """The promise for all answers of a round, where a service has no sessions and so refuses nothing."""
        without_sessions = self.adapter is not None and self.adapter.service.open is None
        return self.guarantee.epsilon if without_sessions and self.guarantee is not None else None

    @property
    def control_caveat(self) -> str | None:
        """Questions about further records do not show that a service leaves out a target."""
        by_questions = self.adapter is not None and self.adapter.service.control is ControlKind.QUESTIONS
        return CONTROL_CAVEAT if by_questions else None

    def require_access(self) -> None:
        """Refuse to question a service without its token."""
        if self.adapter is not None:
            self.adapter.require_token()

    def rehearsal(self) -> "Challenger":
        """The same rounds on the oracle of this process; it counts requests instead of sending them."""
        if self.adapter is None:
            return self
        service, notes = self.adapter.service, self.notes
        if missing := missing_token(service):
            notes = (
                *notes,
                f"{missing}; export it before the run (the plan names the variable, and never the token)",
            )
        return replace(self, adapter=None, control_questions=None, rehearsed=service, notes=notes)

    def release(
        self, members: Bits, rng: Generator
    ) -> QueriesBlock | RemoteQueriesBlock | RemoteControlBlock:
        if self.adapter is None:
            seed = int(rng.integers(2**63))
            if self.rehearsed is not None:
                return CountedQueriesBlock(self.table, self.rules, members, seed, self.rehearsed)
            return QueriesBlock(self.table, self.rules, members, seed)
        seeds = rng.integers(2**53, size=len(members)).tolist()
        if self.control_questions is not None:
            return RemoteControlBlock(self.adapter, self.control_questions, members, seeds)
        return RemoteQueriesBlock(self.adapter, self.table, self.rules, members, seeds)

    @cached_property
    def utility(self) -> dict[str, float] | None:
        """What an analyst gets from a simulated service: how many answers, and how exact one is."""
        if self.adapter is not None or self.rehearsed is not None:
            return None
        found: dict[str, float] = {}
        if (most := self.rules.most_answers) is not None and self.rules.accountant != "none":
            found["paid_answers"] = float(most)
        noise = self.rules.noise_of(self.query) if self.rules.has_additive_noise(self.query) else None
        if noise is not None and not isinstance(noise, opendp.Mechanism):
            drawn = noise.sample(np.zeros(_ERROR_DRAWS), stream(0, Role.DATA, _ERROR_STREAM))
            found["answer_error"] = float(np.abs(drawn).mean())
        return found or None

    def utility_of(self, block: Any) -> Mapping[str, Reals]:
        """In the positive control of a service: how probable it is that its noise hides the target."""
        if not isinstance(block, RemoteControlBlock):
            return {}
        return {NOISE_ERROR: np.full(len(block.members), block.noise_error)}

    def control(self) -> "Challenger | NoControl":
        """One target behind the same oracle, with noise too small to hide it; budget and cache stay.

        A service keeps its noise, and is asked questions that differ more between the two worlds instead.
        """
        targets, rules = self.table.targets[:1], self.rules
        table = OracleTable(self.table.records, targets)
        shift = float(_strengths(self.table.records, self.query, targets)[0])
        settings = [rules.accountant, rules.cache, rules.budget, rules.epsilon, rules.whole, shift]
        if rules.at_least is not None:
            settings += [rules.at_least, rules.suppress_by]
        identity = ["control", self.table.records.digest, repr(self.query), repr(targets), repr(settings)]
        identity += [repr((rules.round, rules.clamp))]
        questions = None
        if self.adapter is not None:
            kind = self.adapter.service.control or ControlKind.QUESTIONS
            if kind is ControlKind.NONE:
                return NoControl(reason='the plan sets service.control = "none"')
            if self.query.kind not in (QueryKind.COUNT, QueryKind.SUM) or self.query.group_by is not None:
                return NoControl(
                    reason="the service adds its own noise, and only counts and sums can be asked with more "
                    "records"
                )
            if self.table.records.rows_per_person is not None:
                return NoControl(
                    reason="the service adds its own noise, and people with several rows cannot be added to "
                    "a question"
                )
            questions = ControlQuestions(table, self.table, self.query, rules, kind)
            if questions.scales < LEAST_SCALES:
                return NoControl(
                    reason="the service adds its own noise, and the records of the table together change an "
                    f"answer by {questions.scales:.1f} noise scales only, where {LEAST_SCALES:g} are needed"
                )
            identity += [repr(self.adapter.service), repr(rules.noise), repr(self.table.targets)]
        control = replace(
            self,
            table=table,
            rules=FaintNoiseRules(
                noise=rules.noise,
                accountant=rules.accountant,
                cache=rules.cache,
                budget=rules.budget,
                round=rules.round and float(shift).is_integer(),
                clamp=rules.clamp,
                at_least=rules.at_least,
                suppress_by=rules.suppress_by,
                rows_per_person=rules.rows_per_person,
                shift=shift,
            ),
            guarantee=None,
            digest=sha256("\n".join(identity).encode(errors="surrogatepass")).hexdigest(),
            control_questions=questions,
        )
        if questions is None:
            _require_an_answer(control)
        return control

    def end(self) -> None:
        """Close the rounds of a completed block."""
        if self.adapter is not None:
            self.adapter.end()

    def abandon(self) -> str | None:
        """Close the rounds of a block that failed; say how many stay open at the service."""
        return None if self.adapter is None else self.adapter.abandon()


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Challenger:
    """Build the challenger from the tables of a plan."""
    table = plan_tables.read_challenger_table(challenger)
    rules = plan_tables.read_oracle_rules(mechanism, table, folder, plan_tables.rows_per_person(data))
    records = load_records(data, folder, seed)
    query = table.query
    _require_answers(records, query)
    _require_whole(records, query, rules)
    targets = choose_targets(records, query, table.targets, stream(seed, Role.DATA, TARGETS_STREAM))
    identity = "\n".join((records.digest, repr(table), repr(rules)))
    return Challenger(
        table=OracleTable(records, targets),
        rules=rules,
        query=query,
        guarantee=oracle_guarantee(rules, table.promise, without_sessions=table.without_sessions),
        digest=sha256(identity.encode(errors="surrogatepass")).hexdigest(),
        notes=(
            *(() if "source" not in data else (f"{Path(data['source']).name}: {_size(records)}",)),
            *opendp_notes(rules.noise),
            *(() if table.service is None else (SERVICE_NOTE,)),
        ),
        adapter=None if table.service is None else ServiceAdapter(table.service),
    )


def _size(records: OracleRecords) -> str:
    if records.rows_per_person is None:
        return f"{len(records)} records"
    n_people = len(records.row_of)
    return f"{len(records)} records of {n_people} people, at most {records.rows_per_person} of each are used"


def control_group(challenger: Challenger) -> Ints:
    """The records that the positive control of an audit leaves out of a service with the first target."""
    table = OracleTable(challenger.table.records, challenger.table.targets[:1])
    if challenger.table.records.rows_per_person is not None:
        return table.targets[:0]
    return ControlQuestions(
        table, challenger.table, challenger.query, challenger.rules, ControlKind.ABSENT
    ).group


def _require_an_answer(control: Challenger) -> None:
    """Refuse an oracle that does not answer the audited query even when it is asked nothing else."""
    oracle = control.release(np.array([[False], [True]]), np.random.default_rng(0)).oracle()
    if np.isnan(oracle.ask(control.query)).all():
        raise BadInput(
            "challenger: the service answers nothing, not even the query of the plan asked once; raise "
            "budget, or lower at_least"
        )


def _require_answers(records: OracleRecords, query: Query) -> None:
    """Refuse a query that the table cannot answer."""
    try:
        records.condition(query)
        if query.column is not None:
            records.numbers(query.column)
        if query.group_by is not None:
            records.groups(query, np.arange(len(records)))
    except BadInput as error:
        raise BadInput(f"challenger.query.{str(error).removeprefix('query.')}") from None


def _require_whole(records: OracleRecords, query: Query, rules: OracleRules) -> None:
    """Refuse sums of fractions where the noise is for whole numbers only."""
    if query.column is None or not rules.whole:
        return
    values = records.values(query, np.arange(len(records)))
    if not (values == np.floor(values)).all():
        name = name_of(rules.noise)
        raise BadInput(f"mechanism {name!r}: {query.column!r} holds numbers that are not whole; use laplace")
