"""Ways to score outputs by classifiers trained on shadows: straight, quadratic, and boosted trees."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies import linear
from leakgauge.strategies.candidates import Score, silence
from leakgauge.strategies.clues import Clue, Learned, Reader, Sample
from leakgauge.strategies.evidence import NumberCoder, Ratios, code_numbers, weigh

Fit: TypeAlias = Callable[[Reals, Bits], Callable[[Reals], Reals]]


@dataclass(frozen=True)
class Weighted:
    """What several clues say, with weights learned by logistic regression."""

    clues: tuple[Clue, ...]

    def learn(self, sample: Sample) -> Score:
        learned = tuple(map(sample.learn, self.clues))
        columns = np.column_stack([clue.bold(sample.reader) for clue in learned])
        return Weighed(learned, linear.logistic(columns, sample.members))


@dataclass(frozen=True, eq=False)
class Weighed:
    """A weighted sum of clues after study."""

    clues: tuple[Learned, ...]
    direction: linear.Direction

    def __call__(self, reader: Reader) -> Reals:
        return self.direction(np.column_stack([clue.bold(reader) for clue in self.clues]))


@dataclass(frozen=True)
class Fitted:
    """A straight or quadratic score of some measures; with ``bins``, the log ratio along that score."""

    measures: tuple[Any, ...]
    fit: Fit
    bins: int = 0

    def learn(self, sample: Sample) -> Score:
        columns = _columns(self.measures, sample.reader)
        frame = linear.frame(columns)
        formula = self.fit(frame(columns), sample.members)
        if not self.bins:
            return Formula(self.measures, frame, formula)
        along = formula(frame(columns))
        coder = code_numbers(along, self.bins)
        ratios = weigh(coder(along), sample.members, coder.n_codes)
        return Formula(self.measures, frame, formula, (coder, ratios))


@dataclass(frozen=True, eq=False)
class Formula:
    """A fitted score after study."""

    measures: tuple[Any, ...]
    frame: linear.Frame
    formula: Callable[[Reals], Reals]
    log_ratio: tuple[NumberCoder, Ratios] | None = None

    def __call__(self, reader: Reader) -> Reals:
        along = self.formula(self.frame(_columns(self.measures, reader)))
        if self.log_ratio is None:
            return along
        coder, ratios = self.log_ratio
        return ratios.cautious[coder(along)]


@dataclass(frozen=True)
class Boosted:
    """The logit of gradient-boosted trees on some measures (Friedman 2001)."""

    measures: tuple[Any, ...]

    def learn(self, sample: Sample) -> Score:
        from sklearn.ensemble import HistGradientBoostingClassifier

        trees = HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=15,
            min_samples_leaf=40,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        )
        usable = tuple(measure for measure in self.measures if _differs(sample.reader.read(measure)))
        if not usable:
            return silence
        with _on_one_thread():
            trees.fit(_for_trees(_columns(usable, sample.reader)), sample.members)
        return Logit(usable, trees)


@dataclass(frozen=True, eq=False)
class Logit:
    """Boosted trees after study."""

    measures: tuple[Any, ...]
    trees: Any

    def __call__(self, reader: Reader) -> Reals:
        columns = _for_trees(_columns(self.measures, reader))
        with _on_one_thread():
            return np.asarray(self.trees.decision_function(columns), dtype=np.float64)


def _on_one_thread() -> AbstractContextManager[Any]:
    """Keep the trees to one thread: more of them only wait for one another on so little work."""
    return _threads().limit(limits=1, user_api="openmp")


@lru_cache(maxsize=1)
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _differs(values: Reals) -> bool:
    known = values[~np.isnan(values)]
    return known.size > 0 and bool((known != known[0]).any())


def _columns(measures: Sequence[Any], reader: Reader) -> Reals:
    return np.column_stack([reader.read(measure) for measure in measures])


def _for_trees(columns: Reals) -> Reals:
    """Put infinite numbers at the ends; trees know what to do with NaN."""
    return np.where(np.isinf(columns), np.sign(columns) * 1e300, columns)
