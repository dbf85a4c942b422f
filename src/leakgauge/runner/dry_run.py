"""What a run would cost, estimated from a few rounds of it in memory."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from leakgauge.catalog import PreparedAudit, announces_cost, audit_error_context, prepare_audit
from leakgauge.core.game import Challenger, KnowledgeBySplit, NoControl, RequestLimits, Trials
from leakgauge.plan import Audit, Plan
from leakgauge.runner.block_store import RoundBlock, split_rounds
from leakgauge.runner.cost_shares import (
    NO_SHARE,
    WHOLE_SHARE,
    CostShare,
    audit_kind,
    audit_shares,
    control_shares,
)
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
from leakgauge.support.work_count import (
    REQUEST,
    SESSION,
    counting_work,
    current_sample,
    sampling_work,
    work_clock,
)

_FEW, _SOME = 16, 512  # at most so many rounds are run to estimate the cost of one more,
_FEW_SHARE, _SOME_SHARE = 200, 40  # and one in so many of those asked for
_CONTROL_FEW, _CONTROL_SOME = 2, 8  # of a positive control
_TRACED = 2  # rounds that are run to see how memory grows; tracing it makes them slow
_SHORT = 0.02  # seconds; what takes less is measured three times
_TRIAL = 250  # bytes of a trial while it is judged: its own 25, and what the referee needs to sort and count
_JUDGING, _REPORT = 8e-6, 2.2  # seconds per trial, and once, with the loading of libraries
_COMPARING = 4e-8  # seconds per byte of a transcript, which is saved and compared with the plan
_PATIENCE = 10.0  # seconds; later audits are assumed to cost as much as those of their kind before,
_HASTE, _SHARE = 0.3, 0.05  # also after so many seconds and such a share of the time that is estimated;
_NEW_SHARE = 0.1  # audits of another kind only after such a share
_STEPS = 4  # of an audit, on the progress bar: set up, attacks, rounds, positive control
_MARGIN = 1.3  # of a range of times, above and below, and of memory, above


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """An estimate; times and ``work`` include the controls.

    ``seconds`` is for a machine that is as busy with other work as it is now. ``seconds_range`` begins with
    the time on a machine that does nothing else.
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
class _ControlCost:
    """What the positive controls of an audit cost, as far as no audit before it played them."""

    rounds: int = 0
    study_seconds: float = 0.0
    playing_seconds: float = 0.0
    request_seconds: float = 0.0  # that requests take at least
    study_work: Counter[str] = field(default_factory=Counter)
    round_work: Counter[str] = field(default_factory=Counter)
    obstacles: tuple[str, ...] = ()

    def seconds(self, slowdown: float = 1.0, share: CostShare = WHOLE_SHARE) -> float:
        """The time of such a share, where all but requests takes so many times as long."""
        playing = slowdown * share.rounds * self.playing_seconds
        requests = share.attacker_rounds * self.request_seconds
        return slowdown * share.study * self.study_seconds + max(playing, requests)


@dataclass(frozen=True)
class _AuditCost:
    """What one audit costs, without its positive controls, and what these cost."""

    study_seconds: float
    playing_seconds: float
    judging_seconds: float
    request_seconds: float  # that requests take at least
    rounds: int
    block_memory: float  # bytes of blocks that are played at once
    study_work: Counter[str]
    round_work: Counter[str]
    control: _ControlCost
    notes: tuple[str, ...]
    further: int  # requests that the auditor adds, at most

    def seconds(self, slowdown: float = 1.0, share: CostShare = WHOLE_SHARE) -> float:
        """The time of such a share without controls, where all but requests takes so many times as long."""
        return slowdown * share.study * self.study_seconds + self._seconds_of_rounds(slowdown, share)

    def round_seconds(self, slowdown: float = 1.0) -> float:
        """The time of one more round."""
        return self._seconds_of_rounds(slowdown, WHOLE_SHARE) / self.rounds

    def _seconds_of_rounds(self, slowdown: float, share: CostShare) -> float:
        playing = slowdown * share.rounds * self.playing_seconds
        requests = share.attacker_rounds * self.request_seconds
        return max(playing, requests) + slowdown * share.attacker_rounds * self.judging_seconds


@dataclass(frozen=True)
class _AuditFacts:
    """What is known of an audit once it is set up."""

    trials: int
    splits: int
    n_targets: int
    repeatable: bool
    setup_seconds: float
    controls: frozenset[str]
    request_total: int | None


@single_threaded()  # as a run plays
def dry_run(plan: Plan, options: EngineOptions = ONE_WORKER) -> RunCost:
    """Estimate what a plan costs; nothing is written, and no service is asked anything.

    Every audit is set up, as the run does before its first round, so that mistakes in a plan are found. Every
    attack of the measured audits studies once, as it would in the run; of many trainings only one is carried
    out.
    """
    costs: list[_AuditCost] = []
    measured: list[Audit] = []
    facts: list[_AuditFacts] = []
    played: set[str] = set()  # controls
    start, clock_start, loaded = work_clock(), perf_counter(), set[str]()
    with progress_bar(_STEPS * len(plan.audits), unit="steps") as advance:
        for audit in plan.audits:
            step = partial(advance, audit.name, 1)
            advance(audit.name, 0)
            with sampling_work(loaded):
                seconds, prepared = _timed(partial(_set_up, audit, plan, options))
                controls = AuditControls.of(audit, plan, prepared)
                facts.append(_facts(audit, prepared, controls, seconds))
                step()
                seconds = work_clock() - start
                known = audit_kind(audit) in map(audit_kind, measured)
                new = not known and seconds <= min(_PATIENCE, _share_limit(costs, len(plan.audits)))
                if not costs or new or seconds <= _time_limit(costs, len(plan.audits)):
                    measured.append(audit)
                    left = controls.after(played)
                    costs.append(_audit_cost(audit, plan, prepared, options.workers, left, step))
                    played |= set(controls.keys.values())
                else:
                    advance(audit.name, _STEPS - 1)
    counts = [len(split_rounds(audit.rounds, audit.block)) for audit in plan.audits]
    by_audit = [audit_shares(audit, measured) for audit in plan.audits]
    shares = [sum(one, NO_SHARE) for one in zip(*by_audit, strict=True)]
    of_controls = control_shares(plan.audits, [fact.controls for fact in facts], measured)
    slowdown = slowdown_by_others(perf_counter() - clock_start, work_clock() - start)
    setup_seconds = _setup_seconds(facts)

    def seconds_if(slowdown: float) -> float:
        playing = sum(cost.seconds(slowdown, share) for cost, share in zip(costs, shares, strict=True))
        return slowdown * (_REPORT + setup_seconds) + playing + control_seconds_if(slowdown)

    def control_seconds_if(slowdown: float) -> float:
        return sum(cost.control.seconds(slowdown, share) for cost, share in zip(costs, of_controls))

    control_costs = [cost.control for cost in costs]
    control_work = _sum_of_work(control_costs, of_controls)
    work = _sum_of_work(costs, shares) + control_work
    totals = [fact.request_total for fact in facts if fact.request_total is not None]
    return RunCost(
        audits=len(plan.audits),
        verdicts=sum(len(audit.contenders) for audit in plan.audits),
        rounds=sum(audit.rounds for audit in plan.audits),
        blocks=sum(counts),
        trials=sum(fact.trials for fact in facts),
        seconds=seconds_if(slowdown),
        seconds_range=time_range(seconds_if(1.0), seconds_if(slowdown)),
        memory=max(_memory(costs, one, fact) for one, fact in zip(by_audit, facts)),
        measured=len(costs),
        work=dict(sorted(work.items())),
        control_rounds=round(
            _total([share.rounds for share in of_controls], [one.rounds for one in control_costs])
        ),
        control_seconds=control_seconds_if(slowdown),
        control_work=dict(sorted(control_work.items())),
        control_obstacles=tuple(dict.fromkeys(text for one in control_costs for text in one.obstacles)),
        request_total=min(totals, default=None),
        starts=max(_starts(costs, one, fact.request_total) for one, fact in zip(by_audit, facts)),
        notes=tuple(dict.fromkeys(note for cost in costs for note in cost.notes)),
        further_requests=round(
            _total([share.attacker_rounds for share in shares], [cost.further for cost in costs])
        ),
        round_seconds=_total(
            [share.audits for share in shares], [cost.round_seconds(slowdown) for cost in costs]
        ),
        splits=tuple(fact.splits for fact in facts),
        n_targets=tuple(fact.n_targets for fact in facts),
        repeatable=tuple(fact.repeatable for fact in facts),
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


def time_range(free_seconds: float, busy_seconds: float) -> tuple[float, float]:
    """The least and the most that a time may be, from estimates for a free machine and for a busy one."""
    return free_seconds / _MARGIN, busy_seconds * _MARGIN


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


def slowdown_by_others(clock_seconds: float, work_seconds: float) -> float:
    """How many times as long work takes because other programs use the machine."""
    return max(1.0, clock_seconds / work_seconds) if work_seconds > 0 else 1.0


def _time_limit(costs: Sequence[_AuditCost], n_audits: int) -> float:
    """How long audits are measured: a share of what all of them will take, but not too long."""
    return min(_PATIENCE, max(_HASTE, _SHARE * _mean_seconds(costs) * n_audits))


def _share_limit(costs: Sequence[_AuditCost], n_audits: int) -> float:
    """How much time may be spent before audits of kinds not measured yet are left out as well."""
    return _NEW_SHARE * (_REPORT + _mean_seconds(costs) * n_audits)


def _mean_seconds(costs: Sequence[_AuditCost]) -> float:
    return sum(cost.seconds() + cost.control.seconds() for cost in costs) / max(len(costs), 1)


def _memory(costs: Sequence[_AuditCost], shares: Sequence[CostShare], fact: _AuditFacts) -> int:
    """The bytes of the blocks and trials of an audit."""
    blocks = max(cost.block_memory for cost, share in zip(costs, shares, strict=True) if share.audits)
    return int(blocks + _TRIAL * fact.trials)


def _starts(costs: Sequence[_AuditCost], shares: Sequence[CostShare], request_total: int | None) -> int:
    """How many times the total of an audit holds all its requests."""
    if request_total is None:
        return 1
    # a control takes as many rounds in every audit
    of_controls = [CostShare(one.study, one.audits, one.study, one.audits) for one in shares]
    control_work = _sum_of_work([cost.control for cost in costs], of_controls)
    return max(1, -(-(_sum_of_work(costs, shares) + control_work)[REQUEST] // request_total))


def _total(shares: Sequence[float], numbers: Sequence[float]) -> float:
    return sum(share * number for share, number in zip(shares, numbers, strict=True))


def _sum_of_work(costs: Sequence[_AuditCost | _ControlCost], shares: Sequence[CostShare]) -> Counter[str]:
    """The work of all audits; attackers share the releases of a round, but not its requests."""
    total = dict[str, float]()
    for cost, share in zip(costs, shares, strict=True):
        for what in cost.study_work | cost.round_work:
            rounds = share.attacker_rounds if what in (REQUEST, SESSION) else share.rounds
            work = share.study * cost.study_work[what] + rounds * cost.round_work[what]
            total[what] = total.get(what, 0.0) + work
    return Counter({what: round(n) for what, n in total.items()})


def _set_up(audit: Audit, plan: Plan, options: EngineOptions) -> PreparedAudit:
    """Set up an audit, and refuse what the run would refuse; a service is not asked."""
    prepared = prepare_audit(audit, plan)
    with audit_error_context(audit, plan):
        refuse_too_many_workers(prepared, options)
        refuse_too_many_rounds(audit, prepared)
        refuse_unjudgeable(audit, prepared.challenger, plan.limits)
    return prepared


def _facts(audit: Audit, prepared: PreparedAudit, controls: AuditControls, seconds: float) -> _AuditFacts:
    challenger = prepared.challenger
    return _AuditFacts(
        trials=challenger.n_targets * audit.rounds * len(audit.contenders),
        splits=_n_splits(challenger, audit.rounds),
        n_targets=challenger.n_targets,
        repeatable=challenger.most_rounds is None,
        setup_seconds=seconds,
        controls=frozenset(controls.keys.values()),
        request_total=None if challenger.request_limits is None else challenger.request_limits.total,
    )


def _setup_seconds(facts: Sequence[_AuditFacts]) -> float:
    """How long the run sets up its audits: several ones twice, and the first time libraries are loaded."""
    seconds = [fact.setup_seconds for fact in facts]
    return sum(seconds) + (sum(seconds[1:]) + min(seconds) if len(seconds) > 1 else 0.0)


def _audit_cost(
    audit: Audit,
    plan: Plan,
    prepared: PreparedAudit,
    workers: int,
    controls: AuditControls,
    step: Callable[[], None],
) -> _AuditCost:
    """What an audit costs after it is set up; ``step`` is called after each of the other steps."""
    challenger, limits = prepared.challenger, prepared.challenger.request_limits
    prepared = replace(prepared, challenger=challenger.rehearsal())
    with counting_work() as study_work:
        study_seconds, play = _timed(lambda: study_attacks(prepared, plan.seed, InProcessEngine()))
    step()
    block = min(audit.block, audit.rounds)
    few = min(_FEW, max(1, audit.rounds // _FEW_SHARE), block)
    some = min(_SOME, max(few + 1, audit.rounds // _SOME_SHARE), block)
    peak, kept, first = _bytes(play, range(1))  # which loads libraries: what is kept is not counted
    at_first, transcript = peak - kept, _transcript_bytes(first.values())  # of a round
    n_parts = _n_parts(prepared, audit.rounds)
    few_seconds, few_work = _seconds_and_work(play, few, n_parts)
    some_seconds, some_work = _seconds_and_work(play, some, n_parts)
    n_blocks = len(split_rounds(audit.rounds, audit.block))
    per_block = _block_seconds([(few, few_seconds), (some, some_seconds)], block, n_parts)
    at_once = _block_bytes(play, block, n_parts, at_first)
    step()
    busy = min(workers, n_blocks)
    trials = challenger.n_targets * audit.rounds * len(audit.contenders)
    work = _work_of_rounds([(few, few_work), (some, some_work)], audit.rounds, n_blocks)
    requests, sessions = (0, 0) if limits is None else limits.beyond(block)
    once = (0, 0) if limits is None else limits.once
    further = requests * n_blocks * len(audit.contenders) + once[0]
    sessions = sessions * n_blocks * len(audit.contenders) + once[1]
    if further:
        work[REQUEST] += further
    if sessions:
        work[SESSION] += sessions
    with audit_error_context(audit, plan):
        control = _control_cost(audit, plan, controls)
    step()
    return _AuditCost(
        study_seconds=study_seconds,
        playing_seconds=n_blocks * per_block / busy,
        judging_seconds=_JUDGING * trials + _COMPARING * transcript * audit.rounds,
        request_seconds=_seconds_of_requests(study_work + work, limits),
        rounds=audit.rounds,
        block_memory=at_once * busy,
        study_work=study_work,
        round_work=work,
        control=control,
        notes=tuple(prepared.challenger.notes),
        further=further,
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
    control, labels = controls.challenger, list(controls.keys)
    if isinstance(control, NoControl):
        return _ControlCost()
    seed, prepare = control_seed(plan.seed), control_preparation(audit, control, plan)
    with counting_work() as study_work:
        study_seconds, (adversaries, obstacles) = _timed(
            lambda: study_control(control, prepare, labels, seed, InProcessEngine())
        )
    said = tuple(f"{label}: {reason}" for label, reason in obstacles.items())
    if not adversaries:
        return _ControlCost(study_seconds=study_seconds, study_work=study_work, obstacles=said)
    rounds, play = control_rounds(adversaries), PlayBlock(control.rehearsal(), adversaries, seed)
    few_seconds, few_work = _seconds_and_work(play, _CONTROL_FEW)
    some_seconds, some_work = _seconds_and_work(play, _CONTROL_SOME)
    work = _work_of_rounds([(_CONTROL_FEW, few_work), (_CONTROL_SOME, some_work)], rounds, 1)
    playing = _extrapolate([(_CONTROL_FEW, few_seconds), (_CONTROL_SOME, some_seconds)], rounds)
    request_seconds = _seconds_of_requests(study_work + work, control.request_limits)
    return _ControlCost(rounds, study_seconds, playing, request_seconds, study_work, work, said)


def _work_of_rounds(points: list[tuple[int, Counter[str]]], rounds: int, n_blocks: int) -> Counter[str]:
    """The steps of all rounds, from those of few and of some: so many for each round, and for each block.

    A training whose steps are rounds is one step of work for many of them.
    """
    (few, low), (some, high) = points
    work: Counter[str] = Counter()
    for what, n in high.items():
        slope = max(n - low[what], 0) / (some - few) if some > few else n / some
        work[what] = round(slope * rounds + max(n - slope * some, 0.0) * n_blocks)
    return work


def _seconds_of_requests(work: Counter[str], limits: RequestLimits | None) -> float:
    """The least time that the requests take at the rate of the plan."""
    return 0.0 if limits is None else work[REQUEST] / limits.rate


def _seconds_and_work(play: PlayBlock, n_rounds: int, step: int = 1) -> tuple[float, Counter[str]]:
    """How long some rounds take, ``step`` apart, and the work in them; if short, the least of three."""

    def once() -> float:
        return _timed(lambda: play(RoundBlock(0, range(0, n_rounds * step, step))))[0]

    with counting_work() as work:
        seconds = once()
    return (min(seconds, once(), once()) if seconds < _SHORT else seconds), work


def _transcript_bytes(played: Iterable[Trials]) -> int:
    """The size of the columns of all transcripts."""
    columns = (column for trials in played for one in trials.transcripts for column in one.values())
    return sum(np.asarray(column).nbytes for column in columns)


def _block_bytes(play: PlayBlock, block: int, n_parts: int, at_first: float) -> float:
    """The most that is held at once while a block is played, after one round was and took so many bytes.

    What is computed once, such as the tables of a split of the people, is held in one of the rounds, however
    many there are: how memory grows with rounds is seen in rounds that were played before. What stays of it
    is kept for each part.
    """
    n = min(_TRACED, block)
    peak, kept, _ = _bytes(play, range(n - 1, n))
    once, again = (_bytes(play, range(rounds))[0] for rounds in (1, n))
    growth = max(again - once, 0.0) / max(n - 1, 1)
    return _MARGIN * (max(peak, at_first) + growth * (block - 1) + kept * n_parts)


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
    sample, start = current_sample(), work_clock()
    skipped = 0.0 if sample is None else sample.skipped_seconds
    result = work()
    seconds = work_clock() - start
    return seconds if sample is None else seconds + sample.skipped_seconds - skipped, result


def _block_seconds(points: list[tuple[int, float]], block: int, n_parts: int) -> float:
    """How long a block takes, from rounds of one part: what a part takes once counts for each of them.

    >>> _block_seconds([(1, 1.25), (3, 1.75)], 100, 12)  # 12 parts take 1 s each, 100 rounds 0.25 s each
    37.0
    """
    (few, low), (some, high) = points
    slope = max(high - low, 0.0) / (some - few) if some > few else high / some
    once = max(low - slope * few, 0.0)
    return _extrapolate(points, block) + (min(n_parts, block) - 1) * once


def _extrapolate(points: list[tuple[int, float]], n: int) -> float:
    """Extend the line through two points to ``n``; never below the larger one."""
    (few, low), (some, high) = points
    if some == few:
        return high * n / some
    slope = max(high - low, 0.0) / (some - few)
    return max(high + slope * (n - some), high if n >= some else high * n / some)
