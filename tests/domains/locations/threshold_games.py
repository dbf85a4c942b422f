"""Games of threshold attacks, played to the end, and how often they were right."""

from dataclasses import dataclass, replace

import numpy as np

from domains.locations.small_town import LAPLACE, game, traces
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.knowledge import build


@dataclass(frozen=True)
class Outcome:
    """Trials of a game, rounds x targets."""

    members: np.ndarray
    scores: np.ndarray
    scorer: object

    @property
    def says(self):
        return self.scores >= 0

    @property
    def fpr(self):
        return float(self.says[~self.members].mean())

    @property
    def accuracy(self):
        return float((1 + self.says[self.members].mean() - self.fpr) / 2)

    @property
    def auc(self):
        """Mean over targets of the share of pairs that are in order."""
        found = []
        for members, scores in zip(self.members.T, self.scores.T, strict=True):
            differences = scores[members][:, None] - scores[~members]
            found.append(((differences > 0) + (differences == 0) / 2).mean())
        return float(np.mean(found))


def play_out(challenger, attack, knowledge, parameters=None, rounds=2_000, block=500, seed=5) -> Outcome:
    """Study with one stream, play with others."""
    known = build(knowledge, parameters or {}, challenger, seed=1)
    scorer = attack.study(known, stream(1, Role.STUDY))
    adversary = Adversary(known, scorer)
    members, scores = [], []
    for number, first in enumerate(range(0, rounds, block)):
        trials = play(challenger, {"it": adversary}, seed, range(first, first + block), number)["it"]
        members.append(trials.members.reshape(block, -1))
        scores.append(trials.scores.reshape(block, -1))
    return Outcome(np.concatenate(members), np.concatenate(scores), scorer)


def alone_with(n_cells, n_others, mechanism=LAPLACE, **setting):
    """One target who visits every cell, and people who visit none."""
    visits = np.zeros((1 + 2 * n_others, n_cells))
    visits[0] = 1
    people = traces(visits)
    rules = {"group_size": n_others, "targets": {"n": 1, "min_visits": n_cells}, **setting}
    return game(people, mechanism, **rules)


def same_halves(visits, target, mechanism=LAPLACE, n_epochs=1, **setting):
    """One target beside people who are twice there: in the pool and in the reference alike."""
    n, people = len(visits), traces(np.vstack([target, visits, visits]), n_epochs)
    divided = PopulationSplit(np.array([0]), np.arange(1, n + 1), np.arange(n + 1, 2 * n + 1))
    return replace(game(people, mechanism, **setting), people=divided)
