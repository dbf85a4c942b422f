"""Candidate scores by classifiers trained on shadows: linear, quadratic, and boosted trees."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.blackbox.event_search import candidates, feature_ratios
from leakgauge.strategies import discriminant_analysis

FitFunction: TypeAlias = Callable[[Reals, Bits], Callable[[Reals], Reals]]


@dataclass(frozen=True)
class WeightedRatios:
    """The sum of the log ratios of several features, with weights fitted by logistic regression."""

    specs: tuple[feature_ratios.FeatureSpec, ...]

    def learn(self, sample: feature_ratios.ShadowSample) -> candidates.ScoreFunction:
        learned = tuple(map(sample.learn, self.specs))
        columns = np.column_stack([feature.bold(sample.reader) for feature in learned])
        return LearnedWeightedRatios(learned, discriminant_analysis.fit_logistic(columns, sample.members))


@dataclass(frozen=True, eq=False)
class LearnedWeightedRatios:
    """A learned weighted sum of log ratios."""

    features: tuple[feature_ratios.LearnedFeature, ...]
    linear: discriminant_analysis.LinearScore

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        return self.linear(np.column_stack([feature.bold(reader) for feature in self.features]))


@dataclass(frozen=True)
class FittedScore:
    """A linear or quadratic score of numeric features; with ``bins``, the log ratio of the binned score."""

    features: tuple[Any, ...]
    fit: FitFunction
    bins: int = 0

    def learn(self, sample: feature_ratios.ShadowSample) -> candidates.ScoreFunction:
        columns = _columns(self.features, sample.reader)
        scaler = discriminant_analysis.fit_scaler(columns)
        score = self.fit(scaler(columns), sample.members)
        if not self.bins:
            return LearnedFittedScore(self.features, scaler, score)
        scores = score(scaler(columns))
        coder = feature_ratios.code_numbers(scores, self.bins)
        ratios = feature_ratios.estimate_ratios(coder(scores), sample.members, coder.n_codes)
        return LearnedFittedScore(self.features, scaler, score, (coder, ratios))


@dataclass(frozen=True, eq=False)
class LearnedFittedScore:
    """A learned linear or quadratic score."""

    features: tuple[Any, ...]
    scaler: discriminant_analysis.RobustScaler
    score: Callable[[Reals], Reals]
    log_ratio: tuple[feature_ratios.NumberCoder, feature_ratios.FrequencyRatios] | None = None

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        scores = self.score(self.scaler(_columns(self.features, reader)))
        if self.log_ratio is None:
            return scores
        coder, ratios = self.log_ratio
        return ratios.cautious[coder(scores)]


@dataclass(frozen=True)
class BoostedTrees:
    """The logit of gradient-boosted trees on numeric features (Friedman 2001)."""

    features: tuple[Any, ...]

    def learn(self, sample: feature_ratios.ShadowSample) -> candidates.ScoreFunction:
        usable = tuple(feature for feature in self.features if _differs(sample.reader.read(feature)))
        if not usable:
            return candidates.zero_score
        from sklearn.ensemble import HistGradientBoostingClassifier

        trees = HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=15,
            min_samples_leaf=40,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        )
        with _on_one_thread():
            trees.fit(_for_trees(_columns(usable, sample.reader)), sample.members)
        return LearnedBoostedTrees(usable, trees)


@dataclass(frozen=True, eq=False)
class LearnedBoostedTrees:
    """Learned boosted trees."""

    features: tuple[Any, ...]
    trees: Any

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        columns = _for_trees(_columns(self.features, reader))
        with _on_one_thread():
            return np.asarray(self.trees.decision_function(columns), dtype=np.float64)


def _on_one_thread() -> AbstractContextManager[Any]:
    """Limit the trees to one thread; with so little work, more threads are slower."""
    return _threads().limit(limits=1, user_api="openmp")


@lru_cache(maxsize=1)
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _differs(values: Reals) -> bool:
    known = values[~np.isnan(values)]
    return known.size > 0 and bool((known != known[0]).any())


def _columns(features: Sequence[Any], reader: feature_ratios.FeatureReader) -> Reals:
    return np.column_stack([reader.read(feature) for feature in features])


def _for_trees(columns: Reals) -> Reals:
    """Replace infinities by large finite numbers; the trees accept NaN."""
    return np.where(np.isinf(columns), np.sign(columns) * 1e300, columns)
