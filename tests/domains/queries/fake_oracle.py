"""A small oracle that shares no code with the real one: targets, known records, one rule of refusal."""

import re
from dataclasses import dataclass, field

import numpy as np

from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query import Query
from leakgauge.mechanisms import laplace


def knowledge(
    *,
    epsilon=1.0,
    n_known=200,
    shifts=(1.0,),
    noise=None,
    query=None,
    accountant="none",
    budget=None,
    cache="none",
):
    """Targets 1, 2, ...; known records 1001, 1002, ...; the noise of one answer."""
    query = query or Query()
    return KnownRecords(
        query=query,
        noise=noise or laplace.Mechanism(epsilon=epsilon, sensitivity=query.sensitivity),
        epsilon=epsilon,
        budget=budget,
        accountant=accountant,
        cache=cache,
        id_column="id",
        ids=tuple(range(1001, 1001 + n_known)),
        values=np.ones(n_known) if query.bound is None else np.linspace(-1, 1, n_known) * query.bound,
        counts=np.ones(n_known),
        target_counts=np.ones(len(shifts)),
        targets=tuple(range(1, 1 + len(shifts))),
        shifts=np.array(shifts, dtype=float),
        whole=True,
    )


@dataclass(eq=False)
class FakeOracle:
    """Answers by the book: a dictionary of what was answered, and a list of what was charged."""

    known: KnownRecords
    members: np.ndarray
    rng: np.random.Generator
    asked: list = field(default_factory=list)
    answers: dict = field(default_factory=dict)

    def __post_init__(self):
        self.charged = {one: np.zeros(len(self.members)) for one in (*self.known.ids, *self.known.targets)}
        self.total = np.zeros(len(self.members))

    @property
    def n_rounds(self):
        return len(self.members)

    def ask(self, query):
        self.asked.append(query)
        key = self._key(query)
        if key in self.answers:
            return self.answers[key]
        about = query.ids if query.ids is not None else self._ids(query.where)
        refused = self._charge(about)
        truth = np.zeros(self.n_rounds)
        for one in about:
            if one in self.known.targets:
                column = self.known.targets.index(one)
                truth += self.members[:, column] * self.known.shifts[column]
            else:
                truth += self.known.values[self.known.ids.index(one)]
        answer = np.where(refused, np.nan, self.known.noise.sample(truth, self.rng))
        if key is not None:
            self.answers[key] = answer
        return answer

    def _charge(self, about):
        cost = np.zeros(self.n_rounds)
        match self.known.accountant:
            case "sequential":
                cost = self.total
            case "per_predicate":  # every record that is named, there or not
                cost = np.max([self.charged[one] for one in about], axis=0)
            case "per_row":  # records that are there
                there = [self._there(one) for one in about]
                cost = np.max([self.charged[one] * is_in for one, is_in in zip(about, there)], axis=0)
        limit = np.inf if self.known.budget is None else self.known.budget * (1 + 1e-12)
        refused = cost + self.known.epsilon > limit
        self.total += np.where(refused, 0.0, self.known.epsilon)
        for one in about:
            self.charged[one] += np.where(refused, 0.0, self.known.epsilon)
        return refused

    def _there(self, one):
        if one in self.known.targets:
            return self.members[:, self.known.targets.index(one)]
        return np.ones(self.n_rounds, dtype=bool)

    def _key(self, query):
        match self.known.cache:
            case "text":
                return query
            case "canonical" if query.where is not None:
                plain = re.sub(r"\s+", " ", query.where.lower())
                return tuple(sorted(set(plain.split(" and ")) - {"true"}))
        return None

    def _ids(self, where):
        """The ids of ``"id" = 7`` and ``"id" IN (7, 8)``, whatever stands around them."""
        if listed := re.search(r'"id" IN \(([\d, ]+)\)', where):
            return tuple(int(number) for number in listed[1].split(","))
        return (int(re.search(r'"id" = +(\d+)', where)[1]),)


@dataclass(eq=False)
class FakeSeen:
    known: KnownRecords
    members: np.ndarray
    seed: int = 1
    oracles: list = field(default_factory=list)

    @property
    def n_rounds(self):
        return len(self.members)

    def oracle(self):
        self.oracles.append(FakeOracle(self.known, self.members, np.random.default_rng(self.seed)))
        return self.oracles[-1]


def played(attack, known, n_rounds=20_000, seed=1):
    """Members, scores and the reading of a block, half of it members."""
    members = np.random.default_rng(seed + 1000).random((n_rounds, len(known.targets))) < 0.5
    scorer = attack.study(known, np.random.default_rng(0))
    scores = scorer.score(FakeSeen(known, members, seed), np.random.default_rng(0))
    assert scores.shape == members.shape
    assert np.isfinite(scores).all()
    return members, scores, scorer.reading


def success(attack, known, n_rounds=20_000, seed=1):
    """Balanced accuracy at the attack's own threshold, and its standard error."""
    members, scores, reading = played(attack, known, n_rounds, seed)
    says = scores >= reading.threshold
    tpr, tnr = says[members].mean(), 1 - says[~members].mean()
    error = np.sqrt(tpr * (1 - tpr) / members.sum() + tnr * (1 - tnr) / (~members).sum()) / 2
    return (tpr + tnr) / 2, error


def auc(attack, known, n_rounds=4_000, seed=1, confidence=0.999):
    """The AUC with its interval, by the referee."""
    from leakgauge.core.game import Coins, Trials
    from leakgauge.referee.metrics import auc as metric

    members, scores, reading = played(attack, known, n_rounds, seed)
    rows = np.arange(members.size)
    trials = Trials(rows, np.zeros_like(rows), members.ravel(), scores.ravel(), Coins.FAIR, reading)
    return metric.Metric(confidence=confidence)(trials)
