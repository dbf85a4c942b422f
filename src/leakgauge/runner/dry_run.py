"""What a run would cost, estimated from at most 16 rounds of each kind of audit, in memory."""

import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from leakgauge.catalog import PreparedAudit, announces_cost, audit_error_context, prepare_audit
from leakgauge.core.game import Challenger, KnowledgeBySplit, NoControl, Trials
from leakgauge.plan import Audit, Plan
from leakgauge.runner.block_store import RoundBlock, split_rounds
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import PlayBlock, study_attacks
from leakgauge.runner.positive_control import (
    AuditControls,
    control_preparation,
    control_rounds,
    control_seed,
    study_control,
)
from leakgauge.runner.run import ONE_WORKER, EngineOptions, refuse_too_many_rounds, refuse_too_many_workers
from leakgauge.runner.run_verdicts import refuse_unjudgeable
from leakgauge.support.progress import progress_bar
from leakgauge.support.threads import single_threaded
from leakgauge.support.work_count import REQUEST, SESSION, counting_work, current_sample, sampling_work

_FEW, _TOGETHER = 16, 4.0  # rounds that are timed together, or fewer if each takes long: so many seconds
_SHORT = 0.1  # seconds; what takes less is measured twice
_PATIENCE = 5.0  # seconds, after which an audit costs as much as another one with the same attackers
_TRACED = 2  # rounds that are run to see how memory grows; tracing it makes them slow
_TRIAL = 250  # bytes of a trial while it is judged: its own 25, and what the referee needs to sort and count
_COMPARING = 4e-8  # seconds per byte of a transcript, which is saved and compared with the plan
_JUDGING, _REPORT = 8e-6, 2.2  # seconds per trial, and once, with the loading of libraries
_MARGIN = 1.3  # of a range of times, above and below, and of memory, above

AuditKind: TypeAlias = tuple[str, str]  # the attackers, and all else


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """An estimate; times and ``work`` include the controls.

    It is for a machine that is as busy with other work as it is now.
    """

    audits: int
    verdicts: int
    rounds: int
    blocks: int
    trials: int
    seconds: float
    seconds_range: tuple[float, float]
    memory: int  # bytes besides the program: of a block in every worker, and of an audit's trials
    measured: int  # audits from which it was estimated
    work: dict[str, int]  # trainings, and requests to a service and the sessions that they open there
    control_rounds: int  # of the positive controls, before the counted rounds
    control_seconds: float
    control_work: dict[str, int]
    control_obstacles: tuple[str, ...]  # why attacks play none
    request_total: int | None  # requests that an audit may send each time it is started
    starts: int = 1  # how often the run has to be started until no audit needs more requests
    notes: tuple[str, ...] = ()  # on the data of these audits
    splits: tuple[int, ...] = ()  # of the people that rounds take turns with, in each audit
    n_targets: tuple[int, ...] = ()  # of each audit
    repeatable: tuple[bool, ...] = ()  # whether more rounds of each audit can be simulated
    further_requests: int = 0  # of all requests, those that the auditor adds to the attacks', at most
    round_seconds: float = 0.0  # of ``seconds``, those of one more round of every audit


@dataclass(frozen=True)
class _RoundCost:
    """What rounds take: in each block, and in each round."""

    part_seconds: float = 0.0  # of a block, for each part with which its rounds take turns
    round_seconds: float = 0.0
    block_work: dict[str, float] = field(default_factory=dict)
    round_work: dict[str, float] = field(default_factory=dict)

    def seconds(self, rounds: int, n_blocks: int, n_parts: int = 1) -> float:
        """The time of so many rounds, of which each block holds one of each part, if it is long enough."""
        parts = n_blocks * min(n_parts, -(-rounds // n_blocks))
        return parts * self.part_seconds + rounds * self.round_seconds

    def work(self, rounds: int, n_blocks: int) -> Counter[str]:
        """The steps of so many rounds."""
        steps = {what: rounds * n + n_blocks * self.block_work[what] for what, n in self.round_work.items()}
        return Counter({what: round(n) for what, n in steps.items()})


@dataclass(frozen=True)
class _KindCost:
    """What is measured on the first audit of a kind."""

    study_seconds: float
    study_work: Counter[str]
    rounds: _RoundCost
    transcripts: int  # bytes in a round
    memory: tuple[float, float, float]  # bytes of a block: of its first round, each other one, each part


@dataclass(frozen=True)
class _ControlCost:
    """What the positive controls of an audit take, as far as no audit before it played them."""

    rounds: int = 0
    seconds: float = 0.0
    work: Counter[str] = field(default_factory=Counter)
    obstacles: tuple[str, ...] = ()  # why attacks play none


@dataclass(frozen=True, kw_only=True)
class _AuditCost:
    """What one audit costs, without its positive control."""

    trials: int
    splits: int
    n_targets: int
    repeatable: bool
    notes: tuple[str, ...]
    rate: float  # requests in a second, at most
    request_total: int | None
    blocks: int
    setup_seconds: float
    study_seconds: float
    playing_seconds: float
    memory: float
    work: Counter[str]
    further: int  # requests that the auditor adds, at most
    control: _ControlCost

    @property
    def seconds(self) -> float:
        """The time after setting up."""
        own = self.study_seconds + self.playing_seconds
        return max(own, self.work[REQUEST] / self.rate) + self.control_seconds

    @property
    def control_seconds(self) -> float:
        """The time of the positive control."""
        return max(self.control.seconds, self.control.work[REQUEST] / self.rate)

    def round_seconds(self, rounds: int) -> float:
        """The time of one more round, where there are so many."""
        return max(self.playing_seconds, self.work[REQUEST] / self.rate) / rounds

    @property
    def starts(self) -> int:
        """How many times the total holds all requests."""
        if self.request_total is None:
            return 1
        return max(1, -(-(self.work + self.control.work)[REQUEST] // self.request_total))


@single_threaded()  # as a run plays
def dry_run(plan: Plan, options: EngineOptions = ONE_WORKER) -> RunCost:
    """Estimate what a plan costs; nothing is written, and no service is asked anything.

    Every audit is set up, as the run does before its first round, so that mistakes in a plan are found. The
    first of each kind studies, as it would in the run, and plays at most 16 rounds; of many equal trainings
    one is carried out.
    """
    kinds: dict[AuditKind, _KindCost] = {}
    controls: dict[AuditKind, _ControlCost] = {}
    costs: list[_AuditCost] = []
    played: set[str] = set()  # controls
    start = perf_counter()
    with progress_bar(len(plan.audits), unit="audits") as advance:
        for audit in plan.audits:
            advance(audit.name, 0)
            hurry, control = perf_counter() - start > _PATIENCE, _ControlCost()
            kind = _audit_kind(audit, kinds, hurry=hurry)
            with sampling_work():
                seconds, prepared = _timed(partial(_set_up, audit, plan, options))
                left = AuditControls.of(audit, plan, prepared).after(played)
                if kind not in kinds:
                    kinds[kind] = _kind_cost(audit, plan, prepared)
                if left.keys and kind not in controls:
                    controls[kind] = _control_cost(audit, plan, left)
                if left.keys:
                    control = controls[kind]
                    played |= set(left.keys.values())
            costs.append(_audit_cost(audit, prepared, kinds[kind], control, options.workers, seconds))
            advance(audit.name, 1)
    seconds = _REPORT + _setup_seconds(costs) + sum(cost.seconds for cost in costs)
    control_work = sum((cost.control.work for cost in costs), Counter[str]())
    work = sum((cost.work for cost in costs), control_work)
    return RunCost(
        audits=len(plan.audits),
        verdicts=sum(len(audit.contenders) for audit in plan.audits),
        rounds=sum(audit.rounds for audit in plan.audits),
        blocks=sum(cost.blocks for cost in costs),
        trials=sum(cost.trials for cost in costs),
        seconds=seconds,
        seconds_range=time_range(seconds),
        memory=int(max(cost.memory for cost in costs)),
        measured=len(kinds),
        work=dict(sorted(work.items())),
        control_rounds=sum(cost.control.rounds for cost in costs),
        control_seconds=sum(cost.control_seconds for cost in costs),
        control_work=dict(sorted(control_work.items())),
        control_obstacles=tuple(dict.fromkeys(text for cost in costs for text in cost.control.obstacles)),
        request_total=min(
            (cost.request_total for cost in costs if cost.request_total is not None), default=None
        ),
        starts=max(cost.starts for cost in costs),
        notes=tuple(dict.fromkeys(note for cost in costs for note in cost.notes)),
        further_requests=sum(cost.further for cost in costs),
        round_seconds=sum(
            cost.round_seconds(audit.rounds) for cost, audit in zip(costs, plan.audits, strict=True)
        ),
        splits=tuple(cost.splits for cost in costs),
        n_targets=tuple(cost.n_targets for cost in costs),
        repeatable=tuple(cost.repeatable for cost in costs),
    )


def cost_line(plan: Plan, options: EngineOptions = ONE_WORKER) -> str | None:
    """What a run will cost in one line, where code of the user may take long; nothing for other plans.

    The positive control does not run that code: of its steps only the time counts.
    """
    announced = tuple(audit for audit in plan.audits if announces_cost(audit))
    if not announced:
        return None
    cost = dry_run(replace(plan, audits=announced), options)
    counted = {what: n - cost.control_work.get(what, 0) for what, n in cost.work.items()}
    steps = " and ".join(f"{n:,} {what}{'s' * (n != 1)}" for what, n in counted.items())
    return f"{steps or 'this'}, about {duration_range(*cost.seconds_range)}"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(30), duration(600), duration(7200)
    ('30 s', '10 min', '2.0 h')
    """
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def time_range(seconds: float) -> tuple[float, float]:
    """The least and the most that a time may be that was estimated."""
    return seconds / _MARGIN, seconds * _MARGIN


def duration_range(low: float, high: float) -> str:
    """A time that is known roughly: two round numbers, or one where they are the same.

    >>> duration_range(26, 64), duration_range(3.1, 3.3), duration_range(100, 700), duration_range(4000, 9000)
    ('25 s to 1 min', '3 s', '1.5 to 10 min', '1 to 3 h')
    """
    first, last = _rounded(low), _rounded(high)
    (short, unit), (long, other) = _with_unit(first), _with_unit(last)
    if first == last:
        return f"{long} {other}"
    return f"{short} to {long} {other}" if unit == other else f"{short} {unit} to {long} {other}"


def _rounded(seconds: float) -> float:
    """The nearest of some round numbers of seconds, minutes or hours."""
    steps = np.array([1.0, 2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40, 50])
    hours = np.concatenate([[1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 24], 24 * np.arange(1.5, 100, 0.5)])
    known = np.concatenate([steps, 60 * np.insert(steps, 1, 1.5), 3600 * hours])
    return float(known[np.abs(np.log(known / max(seconds, 1.0))).argmin()])


def _with_unit(seconds: float) -> tuple[str, str]:
    size, unit = (1, "s") if seconds < 60 else (60, "min") if seconds < 3600 else (3600, "h")
    return f"{seconds / size:g}", unit


def _set_up(audit: Audit, plan: Plan, options: EngineOptions) -> PreparedAudit:
    """Set up an audit, and refuse what the run would refuse; a service is not asked."""
    prepared = prepare_audit(audit, plan)
    with audit_error_context(audit, plan):
        refuse_too_many_workers(prepared, options)
        refuse_too_many_rounds(audit, prepared)
        refuse_unjudgeable(audit, prepared.challenger, plan.limits)
    return prepared


def _audit_kind(audit: Audit, known: Collection[AuditKind], *, hurry: bool) -> AuditKind:
    """Audits that differ only in their rounds and in numbers of the mechanism cost the same in each round.

    In a hurry, one that is known and has the same attackers is taken to be of the same kind.
    """
    who = json.dumps([audit.domain, *(vars(one) for one in audit.contenders)], default=str)
    what = json.dumps([audit.mechanism.get("name"), audit.data, audit.challenger], default=str)
    similar = [kind for kind in known if kind[0] == who] if hurry else []
    return (who, what) if (who, what) in known or not similar else similar[0]


def _setup_seconds(costs: Sequence[_AuditCost]) -> float:
    """How long the run sets up its audits: several ones twice, and the first time libraries are loaded."""
    seconds = [cost.setup_seconds for cost in costs]
    return sum(seconds) + (sum(seconds[1:]) + min(seconds) if len(seconds) > 1 else 0.0)


def _kind_cost(audit: Audit, plan: Plan, prepared: PreparedAudit) -> _KindCost:
    """Let the attacks of an audit study, and play a few of its rounds."""
    rehearsed = replace(prepared, challenger=prepared.challenger.rehearsal())
    with counting_work() as study_work:
        study_seconds, play = _timed(lambda: study_attacks(rehearsed, plan.seed, InProcessEngine()))
    block, n_parts = min(audit.block, audit.rounds), _n_parts(prepared, audit.rounds)
    memory, played = _block_memory(play, block)  # which loads libraries
    columns = (column for trials in played for one in trials.transcripts for column in one.values())
    transcripts = sum(np.asarray(column).nbytes for column in columns)
    return _KindCost(study_seconds, study_work, _round_cost(play, block, n_parts), transcripts, memory)


def _audit_cost(
    audit: Audit,
    prepared: PreparedAudit,
    kind: _KindCost,
    control: _ControlCost,
    workers: int,
    setup_seconds: float,
) -> _AuditCost:
    """What an audit costs, from what was measured on one of its kind."""
    challenger, limits = prepared.challenger, prepared.challenger.request_limits
    block, n_blocks = min(audit.block, audit.rounds), len(split_rounds(audit.rounds, audit.block))
    busy, n_parts = min(workers, n_blocks), _n_parts(prepared, audit.rounds)
    trials = challenger.n_targets * audit.rounds * len(audit.contenders)
    requests, sessions = (0, 0) if limits is None else limits.beyond(block)
    once = (0, 0) if limits is None else limits.once
    further = requests * n_blocks * len(audit.contenders) + once[0]
    added = Counter({REQUEST: further, SESSION: sessions * n_blocks * len(audit.contenders) + once[1]})
    first, more, part = kind.memory
    judging = _JUDGING * trials + _COMPARING * kind.transcripts * audit.rounds
    return _AuditCost(
        trials=trials,
        splits=_n_splits(challenger, audit.rounds),
        n_targets=challenger.n_targets,
        repeatable=challenger.most_rounds is None,
        notes=tuple(challenger.rehearsal().notes),
        rate=float("inf") if limits is None else limits.rate,
        request_total=None if limits is None else limits.total,
        blocks=n_blocks,
        setup_seconds=setup_seconds,
        study_seconds=kind.study_seconds,
        playing_seconds=kind.rounds.seconds(audit.rounds, n_blocks, n_parts) / busy + judging,
        memory=_MARGIN * (first + more * (block - 1) + part * n_parts) * busy + _TRIAL * trials,
        work=kind.study_work + kind.rounds.work(audit.rounds, n_blocks) + added,
        further=further,
        control=control,
    )


def _n_splits(challenger: Challenger[Any], n_rounds: int) -> int:
    """How many splits of the people the rounds take turns with; 1 where nothing is split."""
    splits = challenger.splits(range(n_rounds))
    return 1 if splits is None else len(set(splits.tolist()))


def _n_parts(prepared: PreparedAudit, n_rounds: int) -> int:
    """With how many splits of the people, or parts of what an attacker knows, rounds take turns."""
    parts = [len(one.parts) for one in prepared.knowledges.values() if isinstance(one, KnowledgeBySplit)]
    return max(_n_splits(prepared.challenger, n_rounds), *parts, 1)


def _control_cost(audit: Audit, plan: Plan, controls: AuditControls) -> _ControlCost:
    """Study the positive controls that no other audit has, and play a few of their rounds."""
    control, seed = controls.challenger, control_seed(plan.seed)
    if isinstance(control, NoControl):
        return _ControlCost()
    prepare = control_preparation(audit, control, plan)
    with audit_error_context(audit, plan):
        with counting_work() as study_work:
            seconds, (adversaries, obstacles) = _timed(
                lambda: study_control(control, prepare, list(controls.keys), seed, InProcessEngine())
            )
        said = tuple(f"{label}: {reason}" for label, reason in obstacles.items())
        if not adversaries:
            return _ControlCost(0, seconds, study_work, said)
        n_rounds, play = control_rounds(adversaries), PlayBlock(control.rehearsal(), adversaries, seed)
        play(RoundBlock(0, range(1)))  # which loads libraries
        cost = _round_cost(play, n_rounds)
    return _ControlCost(
        n_rounds, seconds + cost.seconds(n_rounds, 1), study_work + cost.work(n_rounds, 1), said
    )


def _round_cost(play: PlayBlock, block: int, n_parts: int = 1) -> _RoundCost:
    """Time a round and a few rounds of the same part: what more rounds add, each of them takes."""
    low, low_work = _seconds_and_work(play, 1, n_parts)
    few = min(_FEW, max(2, int(_TOGETHER / max(low, 1e-9))), block)
    if few == 1:
        return _RoundCost(0.0, low, dict.fromkeys(low_work, 0.0), dict(low_work))
    high, work = _seconds_and_work(play, few, n_parts)
    slope = max(high - low, 0.0) / (few - 1)
    each = {what: max(n - low_work[what], 0) / (few - 1) for what, n in work.items()}
    in_block = {what: n - few * each[what] for what, n in work.items()}
    return _RoundCost(max(low - slope, 0.0), slope, in_block, each)


def _seconds_and_work(play: PlayBlock, n_rounds: int, step: int) -> tuple[float, Counter[str]]:
    """How long some rounds take, ``step`` apart, and the work in them; if short, the less of two."""

    def once() -> float:
        return _timed(lambda: play(RoundBlock(0, range(0, n_rounds * step, step))))[0]

    with counting_work() as work:
        seconds = once()
    return (min(seconds, once()) if seconds < _SHORT else seconds), work


def _block_memory(play: PlayBlock, block: int) -> tuple[tuple[float, float, float], Collection[Trials]]:
    """The bytes that a block holds at once: for its first round, for each other one, and for each part.

    What is computed once, such as the tables of a split of the people, is held in one of the rounds, however
    many there are: how memory grows with rounds is seen in rounds that were played before. What stays of it
    is kept for each part. The trials of the first round are returned as well.
    """
    n = min(_TRACED, block)
    loading, loaded, first = _bytes(play, range(1))
    peak, kept, _ = _bytes(play, range(n - 1, n))
    once, again = (_bytes(play, range(rounds))[0] for rounds in (1, n))
    return (max(peak, loading - loaded), max(again - once, 0.0), kept), first.values()


def _bytes(play: PlayBlock, rounds: range) -> tuple[float, float, dict[str, Trials]]:
    """The most that some rounds hold at once, what is held after them, and their trials."""
    tracemalloc.start()
    try:
        trials = play(RoundBlock(0, rounds))
        kept, peak = tracemalloc.get_traced_memory()
        return float(peak), float(kept), trials
    finally:
        tracemalloc.stop()


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long some work takes, of which steps of the same kind are carried out once."""
    sample, start = current_sample(), perf_counter()
    skipped = 0.0 if sample is None else sample.skipped_seconds
    result = work()
    seconds = perf_counter() - start
    return seconds if sample is None else seconds + sample.skipped_seconds - skipped, result
