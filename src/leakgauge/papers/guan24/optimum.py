"""What the best informed attack can reach on the targets of a game, if they are added or removed."""

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np

from leakgauge.domains.locations.traces import Ints
from leakgauge.papers.guan24.setting import Release
from leakgauge.theory.cells import Laplace
from leakgauge.theory.losses import best_attack
from leakgauge.verdict import Verdict

NOTE = (
    "The exact optimum is that of an attacker who knows everybody else, when a target is added or removed "
    "and the noise is not rounded. These games replace the target by somebody else, so it is drawn for "
    "orientation and is no ceiling; an attacker may also notice who came instead."
)


def target_visits(verdict: Verdict) -> Ints:
    """How many cells each target of a game visits, after the daily cap."""
    tables = {name: verdict.parameters[name] for name in ("data", "challenger")}
    return _visits(json.dumps(tables, sort_keys=True), verdict.seed)


def mean_auc(release: Release, per_day: int, visits: Ints) -> float:
    """The exact AUC of the best informed attack under Laplace noise, the mean over targets."""
    if release.epsilon is None:
        raise ValueError("without noise the optimum depends on the counts, and not on the cells alone")
    per_cell = release.epsilon / (1 if release.unit == "event" else per_day)
    numbers = Counter(visits.tolist())
    total = sum(times * _auc(per_cell, n) for n, times in numbers.items())
    return float(total / visits.size)


@lru_cache(maxsize=4096)
def _auc(per_cell: float, n: int) -> float:
    return float(np.mean(best_attack([(Laplace(per_cell), n)]).auc))


@lru_cache(maxsize=16)
def _visits(tables: str, seed: int) -> Ints:
    from leakgauge.domains.locations.challenger import build

    challenger = build(**json.loads(tables), mechanism={"name": "raw"}, folder=Path(), seed=seed)
    return challenger.traces.n_visits[challenger.people.targets]
