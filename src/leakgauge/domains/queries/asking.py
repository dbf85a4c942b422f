"""Questions about every target, put to one oracle in a fair order."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.queries.deciding import Decide
from leakgauge.domains.queries.knowledge import Known, Seen
from leakgauge.domains.queries.oracle import Oracle
from leakgauge.domains.queries.splitting import By, Split, more_records, split

MOST_QUERIES = 100_000  # about each target


@dataclass(frozen=True, eq=False)
class Questions:
    """As many questions about each target; question i about all of them comes before i + 1 about any.

    So a budget that runs out runs out for all targets alike.
    """

    splits: tuple[Split, ...]  # one for each target

    @classmethod
    def about_all(cls, knowledge: Known, n_queries: int, by: By) -> "Questions":
        """Split the question about each target."""
        targets = range(len(knowledge.targets))
        return cls(tuple(split(knowledge, target, n_queries, by) for target in targets))

    def ask(self, oracle: Oracle) -> Reals:
        """Rounds x targets x questions: what the target adds, if it is in, and noise; NaN where refused."""
        n = len(self.splits[0].queries)
        samples = np.empty((len(self.splits), n, oracle.n_rounds))  # an answer of all rounds in one piece
        for i in range(n):
            for target, one in enumerate(self.splits):
                samples[target, i] = oracle.ask(one.queries[i]) - one.known[i]
        return samples.transpose(2, 0, 1)


@dataclass(frozen=True, eq=False)
class AskAndDecide:
    """Scores a block: asks an oracle that nobody asked before, and decides by the answers."""

    questions: Questions
    decide: Decide

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        return self.decide(self.questions.ask(seen.oracle()))


def require_records(knowledge: Known, n_queries: int) -> None:
    """Refuse to read refusals where a known record is asked about twice: they might be about that record."""
    needed = n_queries * len(knowledge.targets)
    if len(knowledge.ids) < needed:
        raise BadInput(
            f"queries = {n_queries}: refusals tell of targets only if no known record is asked about twice, "
            f"which takes {needed} of them, but the adversary knows {len(knowledge.ids)}; "
            + more_records(knowledge)
        )


def require_queries(n_queries: int, least: int = 1) -> None:
    """Refuse a number of questions that no attack could use."""
    if not least <= n_queries <= MOST_QUERIES:
        raise BadInput(f"queries must be in {least}..{MOST_QUERIES}, got {n_queries}")
