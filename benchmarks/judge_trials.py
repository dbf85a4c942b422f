"""Judge 100,000 trials, all metrics and the instrument check."""

import numpy as np

from benchmarks.measure import ratio, repeat, sized
from leakgauge.core.game import Coins, Trials
from leakgauge.referee.roc import roc
from leakgauge.runner.in_memory import judge

N = sized(100_000, 500)


def run() -> str:
    rng = np.random.default_rng(1)
    members = rng.random(N) < 0.5
    scores = members + rng.laplace(size=members.size)
    whole = repeat(lambda: judge(members, scores, epsilon=1.0, coins="fair"))
    rows = np.arange(members.size)
    curve = repeat(lambda: roc(Trials(rows, np.zeros_like(rows), members, scores, Coins.FAIR)))
    return f"judge {N:,} trials, everything: {whole}; {ratio(whole, curve)} one ROC curve"
