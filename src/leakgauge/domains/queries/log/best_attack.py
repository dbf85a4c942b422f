"""The best possible attack on each record from the answers that contain it, computed once per signature."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.queries.log import incidence, noise_families
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.kind_counts import count_kinds, group_records, without_unmoved
from leakgauge.domains.queries.log.ratio_kinds import RatioKinds, ratio_kinds
from leakgauge.domains.queries.log.tabulated_kinds import CERTAIN, TabulatedKinds, tabulated_kinds
from leakgauge.theory import characteristic_functions, loss_composition, loss_sums, score_sums
from leakgauge.theory.epsilon_per_target import cell_of, tight_epsilons
from leakgauge.theory.loss_composition import best_attack as bracket

Keys: TypeAlias = npt.NDArray[np.complex128]  # rate + i shift, the shift 0 for Laplace noise

MOST_KINDS = 4096
STEP = 0.001  # rounding up increases a shift by at most this share
LARGE = (1000, 300, 100, 30, 10)  # shifts from which on geometric noise is replaced by Laplace noise
MOST_ROUNDED = 4 * MOST_KINDS  # kinds of geometric noise, beyond which the next of these shifts is used
_ONE_BY_ONE = 400  # kinds of cells over all signatures, up to which every signature is bracketed
# largest slope of any rate in the shift: that of TPR e^shift x 1 %
_STEEPEST = float(np.log(1 / characteristic_functions.FPR))
_BRACKETED = 12  # signatures that are bracketed for comparison, where there are more
_MOST_KINDS_BRACKETED = 32  # kinds of cells of such a signature; more if some are tabulated
_COMPARED = 200  # signatures that are computed with more frequencies for comparison
_FINER = 4  # times as many
_SHRUNK = 24  # signatures whose rates are also computed with smaller shifts, where shifts are rounded


@dataclass(frozen=True, eq=False)
class RecordSignatures:
    """The different signatures (number of cells of each kind, and squared mu) and those of all records."""

    kinds: loss_sums.LossKinds
    cells: csr_array  # signatures x kinds
    mu_squared: Reals
    which: Ints  # the signature of each record
    rounded: float  # the share by which rounding may have increased shifts
    tabulated_rounded: float = 0.0  # that of tabulated noise alone

    @property
    def rounded_down(self) -> loss_sums.LossKinds:
        """Kinds that reveal no more than the answers did before rounding, tabulated ones apart."""
        shrunk = self.kinds.rate * (1 - self.rounded)
        return loss_sums.LossKinds(shrunk, self.kinds.shift, self.kinds.tabulated)


def record_signatures(
    answers: LoggedAnswers,
    sparse: incidence.Incidence,
    mu_squared: Reals,
    tabulated: TabulatedKinds | None = None,
) -> RecordSignatures:
    """Count the kinds of answers that contain each record, and group records with equal counts."""
    ratios = _ratio_kinds(answers, sparse)
    kinds, large = _kinds(answers, sparse) if ratios is None else (ratios.ratios.astype(np.complex128), 0)
    tabulated = tabulated_kinds(answers, sparse) if tabulated is None else tabulated
    n_kinds = kinds.size + len(tabulated)
    positions = _kind_positions(answers, sparse, kinds, large, tabulated, ratios)
    blocks = [count_kinds(*block, n_kinds) for block in positions]
    empty = csr_array((0, max(n_kinds, 1)), dtype=np.float32)
    cells = vstack([empty, *blocks], format="csr")
    blocks.clear()
    first, which = group_records(cells, mu_squared)
    loss_kinds = loss_sums.LossKinds(kinds.real.copy(), kinds.imag.astype(np.int64), tabulated.tables)
    if not n_kinds:
        loss_kinds = loss_sums.LossKinds(np.ones(1), np.zeros(1, dtype=np.int64))
    share = _rounding_share(answers, large) if ratios is None else ratios.step
    rounded = max(share, tabulated.rounded)
    few, mu = cells[first], mu_squared[first]
    return RecordSignatures(loss_kinds, few, mu, which, rounded, tabulated.rounded)


def _kind_positions(
    answers: LoggedAnswers,
    sparse: incidence.Incidence,
    kinds: Keys,
    large: int,
    tabulated: TabulatedKinds,
    ratios: RatioKinds | None,
) -> Iterator[tuple[Ints, npt.NDArray[np.int32]]]:
    """Return for blocks of records where the answers of each start, and their kinds as positions.

    Tabulated kinds come after the others.
    """

    def places(queries: npt.NDArray[np.integer], sizes: Reals) -> npt.NDArray[np.int32]:
        if ratios is not None:
            positions = ratios.positions(queries, sizes)
        else:
            keys = _key(answers, queries, sizes)
            positions = np.searchsorted(kinds, _rounded(keys, large) if large else keys).astype(np.int32)
            positions[keys.real <= 0] = -1
        if len(tabulated):
            own = tabulated.positions(queries, sizes)
            positions = np.where(own >= 0, own + np.int32(kinds.size), positions)
        return positions

    by_query = places(np.arange(len(answers)), answers.bound)
    for block in sparse.blocks():
        starts = sparse.starts[block.start : block.stop + 1]
        own = slice(int(starts[0]), int(starts[-1]))
        if sparse.contributions is None:
            codes = by_query[sparse.queries[own]]
        elif ratios is not None and not len(tabulated):
            codes = ratios.kinds_of_pairs(block, sparse)
        else:
            codes = places(sparse.queries[own], np.abs(sparse.contributions[own]))
        yield without_unmoved(starts - starts[0], codes)


def _ratio_kinds(answers: LoggedAnswers, sparse: incidence.Incidence) -> RatioKinds | None:
    """Return the kinds where records contribute different values and no noise is geometric; else None."""
    if sparse.contributions is None or answers.has_form(noise_families.LossForm.GEOMETRIC).any():
        return None
    return ratio_kinds(answers, sparse, MOST_KINDS, STEP)


def _key(answers: LoggedAnswers, queries: npt.NDArray[np.integer], sizes: Reals) -> Keys:
    """Return the kind of an answer that a record shifts by some size.

    0 if it is not shifted, or if its noise is Gaussian or tabulated.
    """
    form, rate = answers.forms[answers.noise[queries]], 1 / answers.scale[queries]
    ratio = sizes * rate
    keys = np.where(form == noise_families.LossForm.GEOMETRIC, rate + 1j * sizes, ratio.astype(np.complex128))
    keys = np.where(form == noise_families.LossForm.TABULATED, 0j, keys)
    keys = np.where(ratio > CERTAIN, CERTAIN + 0j, keys)
    return np.where((form == noise_families.LossForm.GAUSSIAN) | (ratio <= 0), 0j, keys)


def _kinds(answers: LoggedAnswers, sparse: incidence.Incidence) -> tuple[Keys, int]:
    """Return all kinds that occur, in order, rounded up if there are too many.

    The second value is the shift from which on geometric noise is replaced by Laplace noise; 0 for none.
    """
    if sparse.contributions is None:
        exact = np.unique(_key(answers, np.arange(len(answers)), answers.bound))
        exact = exact[exact.real > 0]
        return (exact, 0) if exact.size <= MOST_KINDS else _limit_kinds(_rounded(exact, LARGE[0]))
    exact, rough, many = np.zeros(0, dtype=np.complex128), np.zeros(0, dtype=np.complex128), False
    for block in sparse.blocks():
        own = slice(int(sparse.starts[block.start]), int(sparse.starts[block.stop]))
        keys = _key(answers, sparse.queries[own], np.abs(sparse.contributions[own]))
        keys = keys[keys.real > 0]
        if not many:
            exact = np.unique(np.concatenate([exact, keys]))
            many = exact.size > MOST_KINDS
        if many:
            rough = np.unique(np.concatenate([rough, _rounded(exact, LARGE[0]), _rounded(keys, LARGE[0])]))
            exact = exact[:0]
    return _limit_kinds(rough) if many else (exact, 0)


def _limit_kinds(rough: Keys) -> tuple[Keys, int]:
    """Round kinds, keeping as many shifts of geometric noise as the limit allows."""
    for large in LARGE:
        rounded = np.unique(_rounded(rough, large))
        if np.count_nonzero(rounded.imag) <= MOST_ROUNDED:
            break
    return rounded, large


def _rounded(keys: Keys, large: int) -> Keys:
    """Round kinds up once, and once more where fewer shifts are kept."""
    rough = _round_up(keys, LARGE[0])
    return rough if large == LARGE[0] else _round_up(rough, large)


def _round_up(keys: Keys, large: int) -> Keys:
    """Round rates up on a logarithmic scale; large shifts become those of Laplace noise.

    Geometric noise reveals no more than Laplace noise with a shift of rate (shift + 1) scales: at every
    corner of its trade-off the two error rates multiply to e^(-rate (shift + 1)) / (1 + e^-rate)^2, and those
    of Laplace noise to e^(-rate (shift + 1)) / 4 at most.
    """
    steps = np.where(keys.imag >= large, keys.imag + 1, 1.0)
    rates = np.maximum(keys.real * steps, np.finfo(float).tiny)
    rounded_rates = np.exp(STEP * np.ceil(np.log(rates) / STEP - 1e-9))
    return rounded_rates + 1j * np.where(keys.imag >= large, 0.0, keys.imag)


def _rounding_share(answers: LoggedAnswers, large: int) -> float:
    """Return the largest share by which rounding may have increased a shift."""
    if not large:
        return 0.0
    reaching = answers.has_form(noise_families.LossForm.GEOMETRIC) & (answers.bound >= large)
    return STEP * (1 if large == LARGE[0] else 2) + (1.01 / large if reaching.any() else 0.0)


def best_attack_per_record(signatures: RecordSignatures) -> tuple[score_sums.AttackRates, float]:
    """Return accuracy, AUC and TPR at 1 % FPR for each record, and the largest error of any of them.

    A small number of signatures is bracketed from both sides; the error is half of the widest bracket. A
    large number is computed by characteristic functions; some of them are bracketed too, more are computed
    with more frequencies, and the error follows from the largest difference.
    """
    n = signatures.cells.shape[0]
    if signatures.cells.nnz + n <= _ONE_BY_ONE:
        low, high = _bracketed(signatures, np.arange(n))
        values, error = (low + high) / 2, float(np.max(high - low)) / 2
    else:
        many = loss_sums.loss_sum_rates(signatures.kinds, signatures.cells, signatures.mu_squared)
        values = np.stack([many.accuracy, many.auc, many.tpr])
        error = _largest_difference(signatures, values)
    error += _rounding_error(signatures) + _STEEPEST * signatures.tabulated_rounded
    accuracy, auc, tpr = values[:, signatures.which]
    return score_sums.AttackRates(accuracy, auc, tpr), error


def _largest_difference(signatures: RecordSignatures, values: Reals) -> float:
    """Return the largest difference of rates from brackets and from rates of more frequencies.

    Few signatures are bracketed, and none of many kinds: a bracket takes a transform for each kind, and one
    of very many kinds has to treat some as equal. It alone shows the error of tabulated kinds. Many are
    computed with more frequencies. If the error is in inverse proportion to their number, or smaller, the
    difference is at least three quarters of it.
    """
    sizes = _sizes(signatures)
    some = _evenly_spaced(sizes, _BRACKETED)
    most = loss_composition.MOST_LAPLACE_KINDS if signatures.kinds.tabulated.cells else _MOST_KINDS_BRACKETED
    some = some[np.diff(signatures.cells.indptr)[some] <= most]
    low, high = _bracketed(signatures, some)
    many = _evenly_spaced(sizes, _COMPARED)
    finer = loss_sums.loss_sum_rates(
        signatures.kinds, signatures.cells[many], signatures.mu_squared[many], finer=_FINER
    )
    apart = np.abs(np.stack([finer.accuracy, finer.auc, finer.tpr]) - values[:, many])
    bracketed = np.max([values[:, some] - low, high - values[:, some]], initial=0.0)
    return max(float(bracketed), float(apart.max()) * _FINER / (_FINER - 1))


def _rounding_error(signatures: RecordSignatures) -> float:
    """Return how much rates may have increased because shifts were rounded up.

    Rates are between those of the kinds as they are and those of kinds that are smaller by the largest
    rounding. Both are computed for signatures of all sizes, and a quarter is added for those between.
    """
    if not signatures.rounded:
        return 0.0
    some = _evenly_spaced(_sizes(signatures), _SHRUNK)
    cells, mu_squared = signatures.cells[some], signatures.mu_squared[some]
    up, down = (
        loss_sums.loss_sum_rates(kinds, cells, mu_squared)
        for kinds in (signatures.kinds, signatures.rounded_down)
    )
    apart = [up.accuracy - down.accuracy, up.auc - down.auc, up.tpr - down.tpr]
    return 1.25 * float(np.max(apart, initial=0.0))


def _sizes(signatures: RecordSignatures) -> Reals:
    return np.asarray(signatures.kinds.largest @ signatures.cells.T + signatures.mu_squared)


def tight_epsilon_per_record(signatures: RecordSignatures, summed: Reals, delta: float) -> Reals:
    """Return an epsilon for each record by tight composition at a delta, never above the ``summed`` one.

    An answer that a record shifts by very many scales hides nothing: there the sum is returned.
    """
    few = tight_epsilons(signatures.kinds, signatures.cells, signatures.mu_squared, delta)
    certain = np.zeros(len(signatures.kinds), dtype=np.float32)
    certain[: signatures.kinds.rate.size] = signatures.kinds.rate >= CERTAIN
    open_ = np.asarray(signatures.cells @ certain) > 0
    tight = np.where(open_, np.inf, few)[signatures.which]
    return np.where(np.isfinite(summed), np.minimum(tight, summed), summed)


def _evenly_spaced(sizes: Reals, n: int) -> Ints:
    order = np.argsort(sizes, kind="stable")
    return order[np.unique(np.linspace(0, order.size - 1, n).astype(np.int64))]


def _bracketed(signatures: RecordSignatures, which: Ints) -> tuple[Reals, Reals]:
    """Return lower and upper bounds on the three numbers of some signatures."""
    low, high = np.empty((2, 3, which.size))
    for place, row in enumerate(which.tolist()):
        cells, mu = _cells(signatures, signatures.cells[[row]]), float(np.sqrt(signatures.mu_squared[row]))
        if not cells and mu == 0:
            low[:, place] = high[:, place] = (0.5, 0.5, characteristic_functions.FPR)
            continue
        best = bracket(cells, mu)
        ends = [best.accuracy, best.auc, tuple(map(float, best.tpr_at(characteristic_functions.FPR)))]
        low[:, place], high[:, place] = np.array(ends).T
    return low, high


def _cells(signatures: RecordSignatures, row: csr_array) -> list[tuple[loss_composition.AnyCell, int]]:
    return [
        (cell_of(signatures.kinds, kind), int(n)) for kind, n in zip(row.indices.tolist(), row.data.tolist())
    ]
