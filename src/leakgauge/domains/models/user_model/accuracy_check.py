"""Is the model right about its own training rows? Finds classes that are matched with the wrong columns.

A model may be weak: then it is right about few rows, in any order of its columns. A model whose columns are
in another order is right about few rows too, but its columns recognise the classes of other columns.
"""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.user_model.records import UserModelRecords

MOST_CELLS = 1_000_000  # rows x classes that are compared; of more rows, some at random
CLEAR_DEVIATIONS = 3.0  # by which another order fits better on rows on which it was not chosen
# How well another order must fit: 0 is a coin, 1 is perfect. Noise fits the best of many orders better.
FIT_OF_TWO, FIT_OF_MORE = 0.2, 0.4
WEAK_BELOW, MANY_CLASSES = 0.2, 20  # share of right answers, up to so many classes
DOUBTFUL_DEVIATIONS = 4.0  # by which others are answered better than members, if the two are interchanged
FAR_BELOW = 4.0  # standard deviations below guesses


@dataclass(frozen=True)
class OrderFit:
    """How well columns recognise the classes for which another order names another column.

    ``given`` and ``other`` are 2 AUC - 1, the mean over these classes, in the order as it is and in the other
    one. ``deviations`` are the standard errors by which the other one is more than twice as good.
    """

    given: float
    other: float
    deviations: float

    @property
    def clear(self) -> bool:
        """Whether the other order is the better one, beyond chance."""
        return self.deviations > CLEAR_DEVIATIONS


def compare_orders(logs: Reals, labels: Ints, rng: np.random.Generator) -> OrderFit:
    """Search another order of the columns that fits the labels of rows better, and test it on other rows.

    A column recognises a class as far as its values rank rows of this class above others, whatever is said
    most often: a model that prefers some classes is not taken for one in another order. Half of the rows
    choose the order, and the other half compares it with the one given; then the halves change places.
    """
    from scipy.stats import rankdata

    n_rows, n_classes = logs.shape
    if n_rows * n_classes > MOST_CELLS:
        some = rng.permutation(n_rows)[: max(MOST_CELLS // n_classes, 2)]
        logs, labels, n_rows = logs[some], labels[some], some.size
    ranks = (2 * rankdata(logs, axis=0) - n_rows - 1) / n_rows
    room = 1 - np.bincount(labels, minlength=n_classes)[labels] / n_rows  # mean rank of a perfect column
    first = rng.permutation(n_rows) < n_rows // 2
    columns = labels.copy()
    for half in (first, ~first):
        columns[half] = _best_columns(ranks[~half], labels[~half])[labels[half]]
    moved = np.flatnonzero((columns != labels) & (room > 0))
    if not moved.size:
        return OrderFit(1.0, 1.0, 0.0)
    given, other = ranks[moved, labels[moved]], ranks[moved, columns[moved]]
    more = other - 2 * given
    spread, scale = float(np.sqrt(more @ more)), float(room[moved].sum())
    deviations = float(more.sum()) / spread if spread > 0 else 0.0
    return OrderFit(float(given.sum()) / scale, float(other.sum()) / scale, deviations)


def _best_columns(ranks: Reals, labels: Ints) -> Ints:
    """The column for each class that rows suggest, each column once; of a class without rows its own."""
    from scipy.optimize import linear_sum_assignment

    n_classes = ranks.shape[1]
    sums = np.zeros((n_classes, n_classes))
    np.add.at(sums, labels, ranks)  # classes x columns
    sums[np.arange(n_classes), np.arange(n_classes)] += 1e-9  # of equally good columns, its own
    columns = linear_sum_assignment(-sums)[1]
    seen: Bits = np.bincount(labels, minlength=n_classes) > 0
    return np.where(seen, columns, np.arange(n_classes))


@dataclass(frozen=True, eq=False)
class _OwnRows:
    """What the model says of the members, and what is true."""

    logs: Reals
    true: Ints

    @property
    def right(self) -> float:
        return float(np.mean(self.logs.argmax(axis=1) == self.true))

    @property
    def usual(self) -> float:
        """The share of the most frequent class."""
        return float(np.bincount(self.true).max() / self.true.size)

    @property
    def guesses(self) -> float:
        """The share of right answers if they were given to the rows in random order."""
        n_classes = self.logs.shape[1]
        said = np.bincount(self.logs.argmax(axis=1), minlength=n_classes)
        return float(said @ np.bincount(self.true, minlength=n_classes)) / self.true.size**2

    @property
    def weak(self) -> bool:
        """Whether the model is right about so few rows that it may be misread."""
        far_below = self.guesses - FAR_BELOW * np.sqrt(self.guesses * (1 - self.guesses) / self.true.size)
        few = WEAK_BELOW if self.logs.shape[1] <= MANY_CLASSES else 0.0
        return self.right <= self.usual or self.right < max(few, far_below)

    def order(self) -> OrderFit:
        return compare_orders(self.logs, self.true, np.random.default_rng(0))


def _own_rows(records: UserModelRecords) -> _OwnRows | None:
    """The rows of the members, where all classes are known."""
    members = records.membership.members
    if not records.classes_known or not members.any():
        return None
    asked = ~records.membership.reference
    return _OwnRows(records.answers.log_probabilities[asked][members], records.labels[asked][members])


def require_class_order(records: UserModelRecords, where: str) -> None:
    """Refuse a model whose columns fit the labels of its own rows far better in another order.

    No training makes a model that recognises other classes than its own on its own rows, but labels that are
    matched with the wrong columns do. Weak models are not refused: no order fits them well.
    """
    own = _own_rows(records)
    if own is None:
        return
    fit, least = own.order(), FIT_OF_TWO if own.logs.shape[1] == 2 else FIT_OF_MORE
    if not fit.clear or fit.other < least:
        return
    raise BadInput(
        f"{where}: the model is right about {own.right:.0%} of the rows it is said to be trained on, and its "
        "columns fit other classes better than their own: with these classes in another order, an AUC of "
        f"{(1 + fit.other) / 2:.2f} instead of {(1 + fit.given) / 2:.2f}; labels are probably matched with "
        "the wrong columns: name the classes in the order of the columns (classes_), or number labels in it; "
        "if the model is as bad as that, say accuracy_check = false"
    )


def doubtful_accuracy(records: UserModelRecords) -> str | None:
    """Why a model that is not refused may still be misread; nothing where its accuracy is not known."""
    own, members = _own_rows(records), records.membership.members
    if own is None:
        return None
    if own.weak:
        return (
            f"beware: the model is right about {own.right:.1%} of the rows it is said to be trained on, "
            f"where the most frequent class alone is right about {own.usual:.1%}; if it does better in use, "
            "its features are in another order or encoding here, and no number of this audit is about it"
        )
    if own.order().clear:
        return (
            "beware: the model recognises other classes better than its own on the rows it is said to be "
            "trained on; check whether its columns are in the order of the labels"
        )
    if members.all():
        return None
    right = records.right[~records.membership.reference]
    mine, other = float(right[members].mean()), float(right[~members].mean())
    error = np.sqrt(mine * (1 - mine) / members.sum() + other * (1 - other) / (~members).sum())
    if other - mine > DOUBTFUL_DEVIATIONS * error:
        return (
            f"beware: the model is right about {mine:.1%} of members and {other:.1%} of others; "
            "check whether the two are interchanged"
        )
    return None
