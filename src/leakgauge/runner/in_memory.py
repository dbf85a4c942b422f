"""Audits without a folder: a mechanism given as a function, and scores from elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge import verdict
from leakgauge.catalog import Game
from leakgauge.core.dice import refuse_own_dice
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.settings import convert
from leakgauge.domains.blackbox import knowledge
from leakgauge.domains.blackbox.attacks.learned_event import Attack
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.plan import Metrics
from leakgauge.runner.engines import in_order, open_engine
from leakgauge.runner.given import trials_of
from leakgauge.runner.playing import study
from leakgauge.runner.prefix import Prefix
from leakgauge.runner.scores_file import read_scores
from leakgauge.runner.store import blocks
from leakgauge.verdict import Subject, Verdict

LABEL = "learned_event-simulator"
BLOCK = 1000  # rounds
FEWEST_SHADOWS = 100


def audit_mechanism(
    release: Callable[[Any, np.random.Generator], Any],
    pair: tuple[Any, Any],
    *,
    epsilon: float | None,
    delta: float = 0.0,
    rounds: int = 20_000,
    seed: int = 0,
    workers: int = 1,
) -> Verdict:
    """Find out whether a mechanism keeps its promise; ``metrics["epsilon"].low`` is the bound.

    ``release(dataset, rng)`` is called on one of the two neighbouring inputs of ``pair`` (without the target,
    with it) and returns a number, a vector, an int, a str, None or a dict. The attack first learns on as many
    rounds of its own which outputs tell the two apart; then ``rounds`` fresh ones are counted. A slow release
    gains from ``workers``.
    """
    whole, seed = convert(int, rounds, "rounds"), convert(int, seed, "seed")
    if not whole >= 1:
        raise BadInput(f"rounds must be >= 1, got {rounds}; 20000 is usual")
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed must be in 0..2^63-1, got {seed}")
    promise = _promise(epsilon, delta)
    if workers > 1:
        refuse_own_dice(release, "release")
    challenger = Challenger(release, pair, promise)
    attack = Attack(shadows=max(whole, FEWEST_SHADOWS))
    game = Game(
        challenger,
        {LABEL: knowledge.build("simulator", {}, challenger, seed)},
        {LABEL: attack},
        challenger.digest,
    )
    prefix = Prefix((LABEL,), None)
    with open_engine("local", workers) as engine:
        for trials in in_order(engine, study(game, seed, engine), blocks(whole, BLOCK)):
            prefix.add(trials)
    name = getattr(release, "__name__", type(release).__name__)
    return verdict.reach(
        prefix.trials(LABEL),
        guarantee=promise,
        subject=Subject(
            audit=name,
            domain="blackbox",
            label=LABEL,
            attack="learned_event",
            knowledge="simulator",
            parameters={
                "data": {},
                "challenger": {"release": name},
                "mechanism": {} if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta},
                "attack": {"shadows": attack.shadows},
            },
            seed=seed,
        ),
        metrics=Metrics(),
    )


def judge(
    members: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    rounds: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    coins: str = "fair",
    seed: int = 0,
) -> Verdict:
    """Judge scores made by any other tool; higher means more likely a member.

    Trials of the same release carry the same round; without ``rounds`` every trial is a release of its own.
    ``coins = "given"`` says that membership was not decided by independent fair coins. Without ``epsilon``
    nothing was promised, and nothing is found.
    """
    trials = trials_of(members, scores, rounds, targets, convert(Coins, coins, "coins"))
    return verdict.reach(
        trials,
        guarantee=_promise(epsilon, delta),
        subject=Subject(
            audit="scores",
            domain="scores",
            label="scores",
            attack="unknown",
            knowledge="unknown",
            parameters={"data": {}, "challenger": {}, "mechanism": {}, "attack": {}},
            seed=seed,
        ),
        metrics=Metrics(confidence=confidence),
    )


def _promise(epsilon: float | None, delta: float) -> Guarantee | None:
    if epsilon is None:
        return None
    return Guarantee(epsilon=convert(float, epsilon, "epsilon"), delta=convert(float, delta, "delta"))


def judge_file(path: Path, **settings: Any) -> Verdict:
    """Judge the scores in a CSV file."""
    table = read_scores(path)
    try:
        return judge(table.members, table.scores, rounds=table.rounds, targets=table.targets, **settings)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
