"""What a run would cost, estimated from a few rounds of it in memory."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from leakgauge.catalog import audit_error_context, prepare_audit
from leakgauge.plan import Audit, Plan
from leakgauge.runner.audit_metadata import metadata_of
from leakgauge.runner.block_store import RoundBlock, split_rounds
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import PlayBlock, study_attacks
from leakgauge.runner.run import ONE_WORKER, EngineOptions, refuse_too_many_rounds
from leakgauge.runner.run_verdicts import refuse_unjudgeable
from leakgauge.support.threads import single_threaded

_FEW, _SOME = 16, 512  # rounds that are run to estimate the cost of one more
_TRIAL = 250  # bytes of a trial while it is judged: its own 25, and what the referee needs to sort and count
_JUDGING, _REPORT = 8e-6, 1.5  # seconds per trial, and once
_PATIENCE = 10.0  # seconds; later audits are assumed to cost as much as those before


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """An estimate, accurate within a factor of about two."""

    audits: int
    verdicts: int
    rounds: int
    blocks: int
    trials: int
    seconds: float
    memory: int  # bytes: of a block in every worker, and of an audit's trials
    measured: int  # audits from which it was estimated


@dataclass(frozen=True)
class _AuditCost:
    """What one audit costs."""

    seconds: float
    memory: int
    targets: int


def dry_run(plan: Plan, options: EngineOptions = ONE_WORKER) -> RunCost:
    """Estimate what a plan costs; nothing is written.

    Every attack of the measured audits studies once, as it would in the run.
    """
    costs: list[_AuditCost] = []
    start = perf_counter()
    for audit in plan.audits:
        if costs and perf_counter() - start > _PATIENCE:
            break
        costs.append(_audit_cost(audit, plan, options.workers))
    unmeasured = len(plan.audits) - len(costs)
    counts = [len(split_rounds(audit.rounds, audit.block)) for audit in plan.audits]
    targets = [cost.targets for cost in costs] + [max(cost.targets for cost in costs)] * unmeasured
    return RunCost(
        audits=len(plan.audits),
        verdicts=sum(len(audit.contenders) for audit in plan.audits),
        rounds=sum(audit.rounds for audit in plan.audits),
        blocks=sum(counts),
        trials=sum(n * audit.rounds * len(audit.contenders) for n, audit in zip(targets, plan.audits)),
        seconds=_REPORT + sum(cost.seconds for cost in costs) * len(plan.audits) / len(costs),
        memory=max(cost.memory for cost in costs),
        measured=len(costs),
    )


def _audit_cost(audit: Audit, plan: Plan, workers: int) -> _AuditCost:
    setup_seconds, prepared = _timed(lambda: prepare_audit(audit, plan))
    with audit_error_context(audit, plan):
        refuse_too_many_rounds(audit, prepared)
        refuse_unjudgeable(audit, metadata_of(prepared), plan.limits)
        prepared.challenger.refuse_dry_run()
    study_seconds, play = _timed(lambda: study_attacks(prepared, plan.seed, InProcessEngine()))
    few, some = (min(n, audit.block, audit.rounds) for n in (_FEW, _SOME))
    play(RoundBlock(0, range(few)))  # the first call loads libraries
    n_blocks = len(split_rounds(audit.rounds, audit.block))
    per_block = _extrapolate([(n, _seconds(play, n)) for n in (few, some)], min(audit.block, audit.rounds))
    at_once = _extrapolate([(n, _bytes(play, n)) for n in (few, some)], min(audit.block, audit.rounds))
    targets = prepared.challenger.n_targets
    busy = min(workers, n_blocks)
    trials = targets * audit.rounds * len(audit.contenders)
    return _AuditCost(
        seconds=2 * setup_seconds + study_seconds + n_blocks * per_block / busy + _JUDGING * trials,
        memory=int(at_once * busy + _TRIAL * trials),
        targets=targets,
    )


def _seconds(play: PlayBlock, n_rounds: int) -> float:
    return min(_timed(lambda: play(RoundBlock(0, range(n_rounds))))[0] for _ in range(3))


def _bytes(play: PlayBlock, n_rounds: int) -> float:
    tracemalloc.start()
    try:
        play(RoundBlock(0, range(n_rounds)))
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    with single_threaded():
        start = perf_counter()
        result = work()
        return perf_counter() - start, result


def _extrapolate(points: list[tuple[int, float]], n: int) -> float:
    """Extend the line through two points to ``n``; never below the larger one."""
    (few, low), (some, high) = points
    slope = max(high - low, 0.0) / (some - few) if some > few else 0.0
    return max(high + slope * (n - some), high if n >= some else high * n / some)
