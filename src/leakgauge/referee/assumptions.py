"""What metrics assume about trials; trials that violate it are refused, and the message says what to do."""

import scipy

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Trials


def need_independent_rounds(trials: Trials, metric: str) -> None:
    """Refuse trials that share a release."""
    if trials.shared_rounds:
        raise BadInput(
            f"{metric} needs one target per round: trials that share a release are not independent; "
            "use one target per round, or the one-run bound, which needs membership assigned at random"
        )


def need_fair_coins(trials: Trials, metric: str) -> None:
    """Refuse membership that was not decided by fair coins."""
    if problem := unfair_coins(trials):
        raise BadInput(f"{metric} needs membership assigned at random, but {problem}; use 'clopper_pearson'")


def need_both_worlds(trials: Trials, metric: str) -> None:
    """Refuse trials of members only, or of non-members only."""
    if trials.members.all() or not trials.members.any():
        kind = "members" if len(trials) and trials.members.all() else "non-members"
        raise BadInput(
            f"{metric} needs members and non-members, got {len(trials)} {kind}; simulate more releases"
        )


def need_lasting_targets(trials: Trials, metric: str) -> None:
    """Refuse rounds that each have targets of their own: no target is in several rounds."""
    if trials.shared_rounds and (trials.targets == trials.targets[0]).all():
        raise BadInput(f"{metric} is a mean over targets, but every round has targets of its own")


def unfair_coins(trials: Trials) -> str | None:
    """Why membership cannot be treated as decided by fair, independent coins; nothing if it can.

    A share of members that fair coins give less than once in a million counts as evidence against them.
    """
    if trials.coins is Coins.GIVEN:
        return "membership was given, not assigned at random"
    if trials.coins is Coins.TIED and trials.shared_rounds:
        return "targets of one release depend on one another"
    n, k = len(trials), int(trials.members.sum())
    tail = (
        min(scipy.special.bdtr(k, n, 0.5), scipy.special.bdtrc(k - 1, n, 0.5) if k > 0 else 1.0) if n else 1.0
    )
    if 2 * tail >= 1e-6:
        return None
    return f"{k} of {n} trials are members, which random assignment would hardly give"
