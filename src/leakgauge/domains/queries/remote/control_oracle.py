"""The positive control of a service: questions whose true answers in the two worlds are far apart.

The noise of a service cannot be turned off from here. Instead every question of an attack selects other
records too, so many that the true answers in the two worlds differ by 20 noise scales: either the service
leaves these records out in the rounds without the target, or the question selects them only in the rounds
with it. Scaled down to the target's own contribution, the answers have little noise.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Transcript
from leakgauge.domains.queries.oracle import NOISE_SCALES, OracleRules
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleTable
from leakgauge.domains.queries.remote.plan_tables import ControlKind
from leakgauge.domains.queries.remote.remote_oracle import HttpOracle, ServiceAdapter
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

LEAST_SCALES = 10.0  # noise scales between the two worlds of a smaller table
MOST_ADDED = 5_000  # records in addition to those of an attack's question

CONTROL_CAVEAT = (
    "the positive control asked the service about further records in the rounds with the target: it shows "
    "that questions and answers arrive, not that the service leaves out a target that it is told to leave "
    "out; where requests have a place for {absent}, control = 'absent' shows that too"
)


@dataclass(frozen=True, eq=False)
class QuestionPair:
    """What is asked in place of an attack's question, in rounds without the target and with it."""

    queries: dict[bool, Query]  # by whether the target is in the table
    n_added: int
    bases: dict[bool, float]  # of each world: the true answer that stands for one without the target
    ratio: float  # of the target's contribution to the difference of the true answers
    scales: float | None  # noise scales between the true answers; None if they do not depend on the target

    @property
    def noise_error(self) -> float:
        """The most that the chance of being on the wrong side of the middle can be for one answer.

        It is that of Laplace and geometric noise with all ties decided wrongly; Gaussian noise has less.
        """
        return 0.0 if self.scales is None else float(np.exp(-self.scales / 2))


@dataclass(frozen=True, eq=False)
class ControlQuestions:
    """Widens the questions of attacks by other records of the table."""

    table: OracleTable  # with the target of the control only
    opened: OracleTable  # with all targets of the audit; all but the first are in the table of every round
    query: Query  # the query that is audited
    rules: OracleRules  # of the service, with its noise
    kind: ControlKind = ControlKind.QUESTIONS

    @cached_property
    def wanted(self) -> float:
        """The difference of the true answers in the two worlds."""
        return NOISE_SCALES * self.rules.noise_of(self.query).noise_scale

    @cached_property
    def scales(self) -> float:
        """How many noise scales the two true answers differ by, at most 20, in any question about the target.

        A question that selects many records itself leaves fewer to be added, unless they are left out.
        """
        rows = self.group if self.kind is ControlKind.ABSENT else self._rows
        values = np.abs(self.table.records.values(self.query, rows))
        omitted = values.max(initial=0.0) if self.kind is ControlKind.ABSENT and values.size > 1 else 0.0
        return NOISE_SCALES * min((abs(self._shift) + float(values.sum()) - omitted) / self.wanted, 1.0)

    @cached_property
    def group(self) -> Ints:
        """The records left out with the target: enough of them even without the one that a question omits."""
        if self.kind is not ControlKind.ABSENT:
            return self._rows[:0]
        values = np.abs(self.table.records.values(self.query, self._rows))
        reached = abs(self._shift) + values.cumsum() - values.max(initial=0.0)
        return self._rows[: int(np.searchsorted(reached, self.wanted)) + 1]

    @cached_property
    def rounds(self) -> OracleTable:
        """The table whose records are opened as absent or present: the targets, then the group."""
        return OracleTable(self.opened.records, np.concatenate([self.opened.targets, self.group]))

    def members(self, present: bool) -> Bits:
        """Who is in the table of a round: without the target, the group is left out as well."""
        members = np.ones(self.rounds.targets.size, dtype=bool)
        members[0] = present
        members[self.opened.targets.size :] = present
        return members

    def pair(self, query: Query, number: int) -> QuestionPair:
        """Widen question ``number`` of an attack; a question that does not select the target stays as it is.

        Every number adds other records: different questions stay different, as a cache must see them.
        """
        shift = float(self.table.ask(query).shifts[0])
        if shift == 0:
            true = {present: self._true(query, present) for present in (False, True)}
            return QuestionPair({False: query, True: query}, 0, true, abs(self._shift) / self.wanted, None)
        rows = self._added(query, number)
        wide = self._or_rows(query, rows)
        narrow = wide if self.kind is ControlKind.ABSENT else query
        base = self._true(narrow, False)
        apart = self._true(wide, True) - base
        return QuestionPair(
            {False: narrow, True: wide},
            int(rows.size),
            dict.fromkeys((False, True), base),
            shift / apart,
            NOISE_SCALES * abs(apart) / self.wanted,
        )

    def _added(self, query: Query, number: int) -> Ints:
        """The records that question ``number`` selects in addition to its own."""
        own = self.table.ask(query)
        if self.kind is ControlKind.ABSENT:
            is_own = np.isin(self.group, own.others)
            rows = self.group[~is_own]
            rows = np.delete(rows, number % rows.size) if rows.size > 1 else rows
            return np.concatenate([rows, self._instead(own.others, int(is_own.sum()))])
        rows = np.roll(self._rows, -number)
        rows = rows[~np.isin(rows, own.others)]
        values = np.abs(self.table.records.values(query, rows))
        return rows[: np.searchsorted(abs(float(own.shifts[0])) + values.cumsum(), self.wanted) + 1]

    def _instead(self, own: Ints, n_absent: int) -> Ints:
        """Records in place of those of a question that are left out, where small counts are not answered."""
        if self.rules.at_least is None:
            return own[:0]
        further = self._rows[self.group.size :]
        return further[~np.isin(further, own)][:n_absent]

    def _true(self, query: Query, present: bool) -> float:
        resolved = self.rounds.ask(query)
        return float(resolved.total + self.members(present) @ resolved.shifts)

    @cached_property
    def _shift(self) -> float:
        return float(self.table.ask(self.query).shifts[0])

    @cached_property
    def _rows(self) -> Ints:
        """Records that change answers in the direction of the target: the ones that do so most, in order."""
        others = self.opened.ask(self.query).others
        values = self.table.records.values(self.query, others) * np.sign(self._shift)
        useful = others[values > 0]
        return useful[np.argsort(-values[values > 0], kind="stable")][:MOST_ADDED]

    def _or_rows(self, query: Query, rows: Ints) -> Query:
        """Select further records in the same way as the question, which the service is known to accept."""
        records = self.table.records
        ids = tuple(records.ids[row] for row in rows.tolist())
        if query.ids is not None:
            return query.on((*query.ids, *ids))
        if query.where is None or not ids:
            return query
        listed = ", ".join(map(quote_literal, ids))
        return query.such_that(f"({query.where}) OR {quote_identifier(records.id_column)} IN ({listed})")


class ControlOracle:
    """Answers an attack from a service, with noise that is small beside the target's contribution."""

    def __init__(self, questions: ControlQuestions, present: Bits, halves: dict[bool, HttpOracle]) -> None:
        self._questions, self._present, self._halves = questions, present, halves
        self._numbers: dict[Query, int] = {}
        self.noise_error = 0.0  # the largest of the questions so far that are clear enough

    @property
    def n_rounds(self) -> int:
        return self._present.size

    def ask(self, query: Query) -> Reals:
        first = not self._numbers
        pair = self._questions.pair(query, self._numbers.setdefault(query, len(self._numbers)))
        if pair.scales is None or pair.scales >= LEAST_SCALES:  # one weak question excuses no attack
            self.noise_error = max(self.noise_error, pair.noise_error)
        answers = np.empty(self.n_rounds)
        for present, oracle in self._halves.items():
            answers[self._present == present] = oracle.ask(pair.queries[present])
        if first:
            self._require_answers(answers, pair.n_added)
        bases = np.where(self._present, pair.bases[True], pair.bases[False])
        narrow = self._questions.table.ask(query).total + (answers - bases) * pair.ratio
        return np.rint(narrow) if self._questions.rules.whole else narrow

    @property
    def obtained(self) -> Reals:
        obtained = np.empty((self.n_rounds, 1))
        for present, oracle in self._halves.items():
            obtained[self._present == present] = oracle.obtained[:, :1]
        return obtained

    @property
    def believed(self) -> dict[str, Reals]:
        halves = {present: oracle.believed for present, oracle in self._halves.items()}
        believed = {name: np.empty(self.n_rounds) for half in halves.values() for name in half}
        for present, half in halves.items():
            for name, epsilon in half.items():
                believed[name][self._present == present] = epsilon
        return believed

    def transcript(self) -> Transcript:
        return {}

    @property
    def reported(self) -> None:
        return None

    def _require_answers(self, answers: Reals, n_added: int) -> None:
        """Refuse a service that does not answer the first question, before any budget can be used up."""
        answered = ~np.isnan(answers)
        if not answered.any():
            raise BadInput(
                f"challenger.service: it gave no number for the first question in any of {self.n_rounds} "
                "rounds, so that nothing can be measured; raise its budget, or check refused and ask.answer"
            )
        if len(self._halves) > 1 and not answered[self._present].any():
            if (fault := self._halves[True].fault) is not None:
                raise BadInput(
                    f"challenger.service: it fails ({fault}) in all sessions whose questions the positive "
                    "control widens; mend it, or audit it as it is, without the control: service.control = "
                    '"none"'
                )
            raise BadInput(
                f"challenger.service: it refuses questions about {n_added} records more, by which the "
                'positive control is played; allow them, or set service.control = "none" to go without it'
            )


@dataclass(frozen=True, eq=False)
class RemoteControlBlock:
    """The oracles of a block of the positive control at a service."""

    adapter: ServiceAdapter
    questions: ControlQuestions
    members: Bits  # of the single target of the control
    seeds: list[int]
    oracles: list[ControlOracle] = field(default_factory=list)

    @property
    def noise_error(self) -> float:
        """The largest chance, over all questions, that the noise of one answer hides the target."""
        return max((oracle.noise_error for oracle in self.oracles), default=0.0)

    def oracle(self) -> ControlOracle:
        """Return a fresh oracle with new rounds."""
        present, questions = self.members[:, 0], self.questions
        halves = {}
        for world in np.unique(present).tolist():
            rounds = np.flatnonzero(present == world)
            members = np.tile(questions.members(world), (rounds.size, 1))
            seeds = [self.seeds[i] for i in rounds.tolist()]
            halves[world] = HttpOracle(self.adapter, questions.rounds, questions.rules, members, seeds)
        self.oracles.append(ControlOracle(questions, present, halves))
        return self.oracles[-1]
