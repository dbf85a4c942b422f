"""What a run would cost, from playing a few rounds of it in memory."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from leakgauge.catalog import audit_error_context, prepare_audit
from leakgauge.plan import Audit, Plan
from leakgauge.runner.audit_facts import facts_of
from leakgauge.runner.block_store import RoundBlock, split_rounds
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import PlayBlock, study_attacks
from leakgauge.runner.run import EngineOptions, refuse_too_many_rounds
from leakgauge.runner.run_verdicts import refuse_unjudgeable
from leakgauge.support.threads import single_threaded

_FEW, _SOME = 16, 512  # rounds played to see what one more costs
_TRIAL = 250  # bytes of a trial while it is judged: its own 25, and those that the referee sorts and counts
_JUDGING, _REPORT = 8e-6, 1.5  # seconds per trial, and once
_PATIENCE = 10.0  # seconds; audits after that are taken to cost what those before them did


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """An estimate: to be trusted within a factor of two or so."""

    audits: int
    verdicts: int
    rounds: int
    blocks: int
    trials: int
    seconds: float
    memory: int  # bytes: of a block in every worker, and of an audit's trials
    measured: int  # audits that were tried


@dataclass(frozen=True)
class _AuditCost:
    """What one audit costs."""

    seconds: float
    memory: int
    targets: int


def dry_run(plan: Plan, hands: EngineOptions | None = None) -> RunCost:
    """Estimate what a plan costs; nothing is written.

    Every attack of the audits that are tried studies once, as it would in the run.
    """
    hands = hands or EngineOptions()
    shares: list[_AuditCost] = []
    start = perf_counter()
    for audit in plan.audits:
        if shares and perf_counter() - start > _PATIENCE:
            break
        shares.append(_audit_cost(audit, plan, hands.workers))
    untried = len(plan.audits) - len(shares)
    counts = [len(split_rounds(audit.rounds, audit.block)) for audit in plan.audits]
    targets = [share.targets for share in shares] + [max(share.targets for share in shares)] * untried
    return RunCost(
        audits=len(plan.audits),
        verdicts=sum(len(audit.contenders) for audit in plan.audits),
        rounds=sum(audit.rounds for audit in plan.audits),
        blocks=sum(counts),
        trials=sum(n * audit.rounds * len(audit.contenders) for n, audit in zip(targets, plan.audits)),
        seconds=_REPORT + sum(share.seconds for share in shares) * len(plan.audits) / len(shares),
        memory=max(share.memory for share in shares),
        measured=len(shares),
    )


def _audit_cost(audit: Audit, plan: Plan, workers: int) -> _AuditCost:
    setting_up, game = _timed(lambda: prepare_audit(audit, plan))
    with audit_error_context(audit, plan):
        refuse_too_many_rounds(audit, game)
        refuse_unjudgeable(audit, facts_of(game))
        game.challenger.refuse_dry_run()
    studying, play = _timed(lambda: study_attacks(game, plan.seed, InProcessEngine()))
    few, some = (min(n, audit.block, audit.rounds) for n in (_FEW, _SOME))
    play(RoundBlock(0, range(few)))  # the first call loads libraries
    n_blocks = len(split_rounds(audit.rounds, audit.block))
    per_block = _extrapolate([(n, _seconds(play, n)) for n in (few, some)], min(audit.block, audit.rounds))
    at_once = _extrapolate([(n, _bytes(play, n)) for n in (few, some)], min(audit.block, audit.rounds))
    targets = game.challenger.n_targets
    busy = min(workers, n_blocks)
    trials = targets * audit.rounds * len(audit.contenders)
    return _AuditCost(
        seconds=2 * setting_up + studying + n_blocks * per_block / busy + _JUDGING * trials,
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
