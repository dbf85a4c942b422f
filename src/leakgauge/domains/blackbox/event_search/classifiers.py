"""Ways to score outputs by classifiers trained on shadows: straight, quadratic, and boosted trees."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.blackbox.event_search.candidates import ScoreFunction, zero_score
from leakgauge.domains.blackbox.event_search.feature_ratios import (
    FeatureReader,
    FeatureSpec,
    FrequencyRatios,
    LearnedFeature,
    NumberCoder,
    ShadowSample,
    code_numbers,
    estimate_ratios,
)
from leakgauge.strategies import discriminant_analysis

FitFunction: TypeAlias = Callable[[Reals, Bits], Callable[[Reals], Reals]]


@dataclass(frozen=True)
class WeightedRatios:
    """What several clues say, with weights learned by logistic regression."""

    clues: tuple[FeatureSpec, ...]

    def learn(self, sample: ShadowSample) -> ScoreFunction:
        learned = tuple(map(sample.learn, self.clues))
        columns = np.column_stack([clue.bold(sample.reader) for clue in learned])
        return LearnedWeightedRatios(learned, discriminant_analysis.fit_logistic(columns, sample.members))


@dataclass(frozen=True, eq=False)
class LearnedWeightedRatios:
    """A weighted sum of clues after study."""

    clues: tuple[LearnedFeature, ...]
    direction: discriminant_analysis.LinearScore

    def __call__(self, reader: FeatureReader) -> Reals:
        return self.direction(np.column_stack([clue.bold(reader) for clue in self.clues]))


@dataclass(frozen=True)
class FittedScore:
    """A straight or quadratic score of some measures; with ``bins``, the log ratio along that score."""

    measures: tuple[Any, ...]
    fit: FitFunction
    bins: int = 0

    def learn(self, sample: ShadowSample) -> ScoreFunction:
        columns = _columns(self.measures, sample.reader)
        frame = discriminant_analysis.fit_scaler(columns)
        formula = self.fit(frame(columns), sample.members)
        if not self.bins:
            return LearnedFittedScore(self.measures, frame, formula)
        along = formula(frame(columns))
        coder = code_numbers(along, self.bins)
        ratios = estimate_ratios(coder(along), sample.members, coder.n_codes)
        return LearnedFittedScore(self.measures, frame, formula, (coder, ratios))


@dataclass(frozen=True, eq=False)
class LearnedFittedScore:
    """A fitted score after study."""

    measures: tuple[Any, ...]
    frame: discriminant_analysis.RobustScaler
    formula: Callable[[Reals], Reals]
    log_ratio: tuple[NumberCoder, FrequencyRatios] | None = None

    def __call__(self, reader: FeatureReader) -> Reals:
        along = self.formula(self.frame(_columns(self.measures, reader)))
        if self.log_ratio is None:
            return along
        coder, ratios = self.log_ratio
        return ratios.cautious[coder(along)]


@dataclass(frozen=True)
class BoostedTrees:
    """The logit of gradient-boosted trees on some measures (Friedman 2001)."""

    measures: tuple[Any, ...]

    def learn(self, sample: ShadowSample) -> ScoreFunction:
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
            return zero_score
        with _on_one_thread():
            trees.fit(_for_trees(_columns(usable, sample.reader)), sample.members)
        return LearnedBoostedTrees(usable, trees)


@dataclass(frozen=True, eq=False)
class LearnedBoostedTrees:
    """Boosted trees after study."""

    measures: tuple[Any, ...]
    trees: Any

    def __call__(self, reader: FeatureReader) -> Reals:
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


def _columns(measures: Sequence[Any], reader: FeatureReader) -> Reals:
    return np.column_stack([reader.read(measure) for measure in measures])


def _for_trees(columns: Reals) -> Reals:
    """Put infinite numbers at the ends; trees know what to do with NaN."""
    return np.where(np.isinf(columns), np.sign(columns) * 1e300, columns)
