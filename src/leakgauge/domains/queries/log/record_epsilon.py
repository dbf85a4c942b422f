"""Epsilon per record: of all answers that contain it, and of the costliest of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack
from scipy.special import erfcx, ndtr

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.domains.queries.log import incidence, kind_counts, noise_families
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.tabulated_kinds import TabulatedKinds, tabulated_kinds
from leakgauge.theory import loss_composition, tradeoff
from leakgauge.theory.loss_tables import LossTables

MOST_TIGHT = 200  # different kind_counts, up to which each is composed tightly
TOP = 3  # costliest answers that are listed
_HALVINGS = 60
_NODES = 4096  # of the table that ranks single Gaussian answers


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
    answers: LoggedAnswers, sparse: incidence.Incidence, delta: float, kinds: TabulatedKinds | None
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
        blocks.append(
            kind_counts.count_kinds(*kind_counts.without_unmoved(starts - starts[0], codes), len(kinds))
        )
    counts = vstack(blocks, format="csc")[:, : len(kinds)]
    pure = counts @ np.where(at_delta, 0.0, largest)
    columns = csr_array(counts[:, np.flatnonzero(at_delta)])
    return ComposedAnswers(which, kinds, single, pure, tables, columns, beyond, delta)


def composed_epsilons(tables: LossTables, counts: csr_array, mu_squared: Reals, delta: float) -> Reals:
    """Return an epsilon for each row of counts of kinds, with Gaussian noise of ``mu_squared`` besides.

    Records with equal counts share one computation: Renyi divergences, and where there are few different
    ones tight composition. Both are upper bounds; the smaller one is returned.
    """
    first, which = kind_counts.group_records(counts, mu_squared)
    few = counts[first]
    epsilons = tables.epsilons(few, mu_squared[first], delta)
    if first.size <= MOST_TIGHT:
        for row in range(first.size):
            own = few[[row]]
            cells = [(tables.cells[kind], int(n)) for kind, n in zip(own.indices.tolist(), own.data.tolist())]
            best = loss_composition.best_attack(cells, float(np.sqrt(mu_squared[first[row]])))
            epsilons[row] = min(epsilons[row], tradeoff.epsilon_at(best.high, delta))
    return np.asarray(epsilons[which])


@dataclass(frozen=True, eq=False)
class RecordEpsilon:
    """For each record: epsilon by sequential composition over its own answers, and the costliest of them.

    ``pure`` is the sum of what answers cost without delta, such as contribution / scale; ``mu_squared`` is
    the sum of the squares of contribution / standard deviation over Gaussian answers; ``at_delta`` is whether
    any answer has an epsilon only at a delta; ``top`` are positions of answers, -1 for none.
    """

    pure: Reals
    mu_squared: Reals
    at_delta: Bits
    epsilon: Reals
    top: Ints
    top_epsilon: Reals


def epsilon_per_record(
    answers: LoggedAnswers, sparse: incidence.Incidence, delta: float, tabulated: TabulatedKinds | None = None
) -> RecordEpsilon:
    """Compute epsilon and the costliest answers of each record, block by block."""
    n = sparse.n_records
    pure, squares, top, costs = np.zeros(n), np.zeros(n), np.full((n, TOP), -1), np.zeros((n, TOP))
    normal = answers.has_form(noise_families.LossForm.GAUSSIAN)
    composed = compose_answers(answers, sparse, delta, tabulated)
    apart = normal if composed is None else normal | composed.which
    whole = answers.bound / answers.scale
    single_epsilon = np.where(normal, gaussian_epsilons(np.where(normal, whole, 0.0), delta), whole)
    table = _epsilon_table(answers, delta) if normal.any() else None
    for block in sparse.blocks():
        starts = sparse.starts[block.start : block.stop + 1]
        own = slice(int(starts[0]), int(starts[-1]))
        queries = sparse.queries[own]
        rows = np.flatnonzero(np.diff(starts))
        firsts = starts[rows] - starts[0]
        if not rows.size:
            continue
        if sparse.contributions is None:
            ratios, cost = whole[queries], single_epsilon[queries]
        else:
            ratios = np.abs(sparse.contributions[own]) / answers.scale[queries]
            cost = ratios if table is None else np.where(normal[queries], np.interp(ratios, *table), ratios)
        if composed is not None:
            prices = composed.prices(queries, sparse.sizes(own, answers.bound))
            ratios, cost = (np.where(composed.which[queries], prices, known) for known in (ratios, cost))
        places = block.start + rows
        if not apart.any():
            pure[places] = np.add.reduceat(ratios, firsts)
        else:
            pure[places] = np.add.reduceat(np.where(apart[queries], 0.0, ratios), firsts)
        if table is not None:
            squares[places] = np.add.reduceat(np.where(normal[queries], ratios**2, 0.0), firsts)
        lengths = np.diff(np.append(firsts, queries.size))
        for rank, (which, chosen) in enumerate(_costliest(cost.copy(), firsts, lengths)):
            top[places[which], rank], costs[places[which], rank] = queries[chosen], ratios[chosen]
    gaussian = (top >= 0) & normal[top]
    costs[gaussian] = gaussian_epsilons(costs[gaussian], delta)
    at_delta = gaussian_epsilons(np.sqrt(squares), delta)
    if composed is None:
        return RecordEpsilon(pure, squares, squares > 0, pure + at_delta, top, costs)
    pure += composed.pure
    at_delta = composed.epsilons(squares, at_delta)
    return RecordEpsilon(pure, squares, (squares > 0) | composed.at_delta, pure + at_delta, top, costs)


def _costliest(cost: Reals, firsts: Ints, lengths: Ints) -> "list[tuple[Ints, Ints]]":
    """Return per rank the rows with an answer of that rank, and its position; the first of equal ones."""
    ranks = []
    row_of = np.repeat(np.arange(firsts.size, dtype=np.int32), lengths)
    for _ in range(TOP):
        most = np.maximum.reduceat(cost, firsts)
        hits = np.flatnonzero(cost == most[row_of])
        rows = row_of[hits]
        chosen = hits[np.flatnonzero(np.diff(rows, prepend=-1))]
        some = most >= 0  # answers of earlier ranks were set below zero
        ranks.append((np.flatnonzero(some), chosen[some]))
        cost[chosen] = -1.0
    return ranks


def _epsilon_table(answers: LoggedAnswers, delta: float) -> tuple[Reals, Reals]:
    """Return a table of mu and epsilon of one Gaussian answer, to rank answers by interpolation."""
    normal = answers.has_form(noise_families.LossForm.GAUSSIAN)
    most = float(np.max(answers.bound[normal] / answers.scale[normal]))
    mus = np.concatenate([[0.0], np.geomspace(most * 1e-9, most, _NODES)])
    return mus, gaussian_epsilons(mus, delta)


def gaussian_epsilons(mus: Reals, delta: float) -> Reals:
    """Return the smallest epsilon of Gaussian noise at a delta, for many shifts in standard deviations.

    Bisection as in ``gdp.epsilon_at``: delta decreases in epsilon (Balle and Wang 2018, theorem 8).

    >>> gaussian_epsilons(np.array([0.0, 1.0]), 1e-5).round(3).tolist()
    [0.0, 4.377]
    """
    distinct, which = np.unique(mus, return_inverse=True)
    mu = distinct[distinct > 0]
    low, high = np.zeros(mu.size), mu * mu / 2 + mu * np.sqrt(2 * np.log(1 / delta))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _delta(mu, middle) <= delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    high[_delta(mu, np.zeros(mu.size)) <= delta] = 0.0
    return np.concatenate([np.zeros(distinct.size - mu.size), high])[which].reshape(mus.shape)


def _delta(mu: Reals, epsilon: Reals) -> Reals:
    """Compute delta as in ``gdp.delta_at``, without cancellation where it is small."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        tail = np.exp(-(near**2) / 2) * erfcx(far / np.sqrt(2)) / 2
        small = np.exp(-(near**2) / 2) * erfcx(near / np.sqrt(2)) / 2 - tail
        return np.where(near < 0, ndtr(-near) - tail, small)
