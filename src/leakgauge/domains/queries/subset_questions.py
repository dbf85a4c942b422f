"""Questions about random sets of the targets, as linear reconstruction asks them (Dinur and Nissim 2003)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.oracle import Oracle
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.target_questions import (
    SelectBy,
    least_known,
    question_about_ids,
    require_records,
    require_within_promise,
)


@dataclass(frozen=True, eq=False)
class SubsetQuestions:
    """Queries about sets of targets and known records, and what each target adds to each answer."""

    queries: tuple[Query, ...]
    known: Reals  # what the known records add to each answer
    design: Reals  # queries x targets: what a present target adds to an answer
    n_known: int  # known records in each question

    def ask(self, oracle: Oracle) -> Reals:
        """Return rounds x queries: what the present targets add up to, plus noise; NaN where refused."""
        return np.column_stack([oracle.ask(query) for query in self.queries]) - self.known

    @property
    def described(self) -> str:
        """What is asked."""
        n_queries, n_targets = self.design.shape
        people = "person" if self.n_known == 1 else "people"
        sets = "the target" if n_targets == 1 else f"random sets of the {n_targets} targets"
        return f"{n_queries} questions about {sets}, each with {self.n_known} known {people}"


def subset_questions(
    knowledge: KnownRecords, n_queries: int, by: SelectBy | None, rng: Generator
) -> SubsetQuestions:
    """Draw different questions; each target is in a question with probability 1/2, and one at least.

    A question has one known record besides, or as many as the service takes to answer. Where there are fewer
    different questions than ``n_queries``, as about a single target, all of them are asked.
    """
    require_within_promise(knowledge, -(-n_queries // 2))
    if knowledge.query.kind is QueryKind.AVERAGE or knowledge.query.group_by is not None:
        raise BadInput(
            "reconstruction adds up what targets contribute, and takes counts and sums without groups; "
            "change challenger.query"
        )
    n_targets = len(knowledge.targets)
    size = max(min(1, len(knowledge.ids)), least_known(knowledge))
    require_records(knowledge, 1, size)
    n_sets = len(knowledge.ids) // size if size else 1
    if n_targets < 20:  # otherwise there are more sets of targets than anybody asks
        n_queries = min(n_queries, n_sets * (2**n_targets - 1))
    used: list[set[bytes]] = [set() for _ in range(n_sets)]
    queries, known, chosen = [], np.empty(n_queries), np.empty((n_queries, n_targets), dtype=bool)
    for i in range(n_queries):
        place = i % n_sets
        chosen[i] = _new_subset(n_targets, used[place], rng)
        rows = place * size + np.arange(size)
        known[i] = knowledge.values[rows].sum()
        ids = [knowledge.ids[row] for row in rows.tolist()]
        ids += [name for name, is_in in zip(knowledge.targets, chosen[i].tolist()) if is_in]
        queries.append(question_about_ids(knowledge, tuple(ids), by))
    return SubsetQuestions(tuple(queries), known, chosen * knowledge.shifts, size)


def _new_subset(n_targets: int, used: set[bytes], rng: Generator) -> Bits:
    """Draw a set of targets that is not empty, and that was not asked about with the same known records."""
    while True:
        subset = rng.random(n_targets) < 0.5
        if subset.any() and subset.tobytes() not in used:
            used.add(subset.tobytes())
            return subset
