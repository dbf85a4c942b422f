"""Epsilon of answers under noise without a closed form, from the tables of their privacy losses."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.incidence import Incidence
from leakgauge.domains.queries.log.signatures import count_kinds, group_records, without_unmoved
from leakgauge.domains.queries.log.tabulated_kinds import TabulatedKinds, tabulated_kinds
from leakgauge.theory import tradeoff
from leakgauge.theory.loss_composition import best_attack
from leakgauge.theory.loss_tables import LossTables

MOST_TIGHT = 200  # different signatures, up to which each is composed tightly


@dataclass(frozen=True, eq=False)
class ComposedAnswers:
    """The answers whose cost is not simply their shift in scales, and what they cost each record.

    A record that shifts an answer by more scales than are tabulated has an infinite epsilon.
    """

    which: Bits  # of the answers
    kinds: TabulatedKinds
    single: Reals  # epsilon of one answer of each kind
    pure: Reals  # for each record: the sum of the costs without delta
    tables: LossTables  # of the kinds that have an epsilon only at a delta
    counts: csr_array  # records x those kinds
    beyond: Bits  # records that shift an answer too far
    delta: float

    @property
    def at_delta(self) -> Bits:
        """Records with an answer that has an epsilon only at a delta."""
        return np.asarray((np.diff(self.counts.indptr) > 0) | self.beyond)

    def prices(self, queries: npt.NDArray[np.integer], sizes: Reals) -> Reals:
        """Return epsilon of single answers, of any noise, that a record shifts by some size."""
        codes = self.kinds.positions(queries, sizes)
        return np.where((codes < 0) & (sizes > 0), np.inf, np.append(self.single, 0.0)[codes])

    def epsilons(self, mu_squared: Reals, others: Reals) -> Reals:
        """Return epsilon at the delta of each record, from ``others`` where it has no such answer."""
        rows = np.flatnonzero(np.diff(self.counts.indptr))
        epsilons = others.copy()
        if rows.size:
            epsilons[rows] = composed_epsilons(self.tables, self.counts[rows], mu_squared[rows], self.delta)
        epsilons[self.beyond] = np.inf
        return epsilons


def compose_answers(
    answers: LoggedAnswers, sparse: Incidence, delta: float, kinds: TabulatedKinds | None
) -> ComposedAnswers | None:
    """Count the kinds of these answers for each record, block by block; None if there is no such answer."""
    chosen = [family.composed for family in answers.families]
    which = answers.where(chosen)
    if not which.any():
        return None
    kinds = tabulated_kinds(answers, sparse) if kinds is None else kinds
    largest = kinds.largest_losses
    at_delta = np.array(chosen)[kinds.families] & ~np.isfinite(largest)
    tables = kinds.tables.only(np.flatnonzero(at_delta).tolist())
    single, n_tables = largest.copy(), len(tables.cells)
    if n_tables:
        one_each = csr_array(np.eye(n_tables))
        single[at_delta] = composed_epsilons(tables, one_each, np.zeros(n_tables), delta)
    blocks, beyond = [], np.zeros(sparse.n_records, dtype=bool)
    for block in sparse.blocks():
        starts = sparse.starts[block.start : block.stop + 1]
        own = slice(int(starts[0]), int(starts[-1]))
        queries, sizes = sparse.queries[own], sparse.sizes(own, answers.bound)
        codes = np.where(which[queries], kinds.positions(queries, sizes), -1)
        too_far = np.concatenate([[0], np.cumsum(which[queries] & (codes < 0) & (sizes > 0))])
        beyond[block] = np.diff(too_far[starts - starts[0]]) > 0
        blocks.append(count_kinds(*without_unmoved(starts - starts[0], codes), len(kinds)))
    counts = vstack(blocks, format="csc")[:, : len(kinds)]
    pure = counts @ np.where(at_delta, 0.0, largest)
    columns = csr_array(counts[:, np.flatnonzero(at_delta)])
    return ComposedAnswers(which, kinds, single, pure, tables, columns, beyond, delta)


def composed_epsilons(tables: LossTables, counts: csr_array, mu_squared: Reals, delta: float) -> Reals:
    """Return an epsilon for each row of counts of kinds, with Gaussian noise of ``mu_squared`` besides.

    Records with equal counts share one computation: Renyi divergences, and where there are few different
    ones tight composition. Both are upper bounds; the smaller one is returned.
    """
    first, which = group_records(counts, mu_squared)
    few = counts[first]
    epsilons = tables.epsilons(few, mu_squared[first], delta)
    if first.size <= MOST_TIGHT:
        for row in range(first.size):
            own = few[[row]]
            cells = [(tables.cells[kind], int(n)) for kind, n in zip(own.indices.tolist(), own.data.tolist())]
            best = best_attack(cells, float(np.sqrt(mu_squared[first[row]])))
            epsilons[row] = min(epsilons[row], tradeoff.epsilon_at(best.high, delta))
    return np.asarray(epsilons[which])
