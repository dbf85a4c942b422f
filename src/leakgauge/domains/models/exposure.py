"""How exposed each record is: what an attacker who trains shadow models learns about its membership.

Each record is in a fixed share of the shadow models, at random. The likelihood ratio attack (LiRA) then
guesses for every shadow model whether the record was in it, by what the other shadow models say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure, GroupExposure
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.data.dataset import CategoricalColumn
from leakgauge.domains.models.exposed_records import LABEL, ExposedRecords, HasExposedRecords
from leakgauge.domains.models.membership_signals import largest_log_odds, log_odds, signal_matrix
from leakgauge.domains.models.shadow_models import train_shadows
from leakgauge.domains.models.training.trainer import Classifier
from leakgauge.referee.shrunken_rates import ShrunkenRates, shrunken_rates

UNCERTAINTY = (
    "Each record's numbers are estimated from few models, together with those of all other records; the "
    "error is two standard deviations of the most uncertain one."
)
ATTACKER = "black_box"
STEPS = ("shadow models", "records")
MIN_SHADOWS = 16
MIN_SIDE = 4  # models with a record, and without it, where they were trained elsewhere
_STUDY_BLOCK = 1  # of the stream; attacks of a run use others
_FPR = 0.01
_PAIRINGS = 4  # of shadow models with and without a record
_PRIOR_FREEDOM = 4.0  # how many values the variance over all records counts for, beside a record's own
_MIN_VARIANCE = 1e-12
_NEIGHBOURS, _NEIGHBOUR_ROWS = 5, 5_000  # for how far a record is from others
_TAIL = 0.05  # of records: called unusual, or hard


@dataclass(frozen=True, eq=False)
class _Side:
    """The Gaussian of each record over the shadow models of one side, by sums of values and of squares.

    The variance is that of the record, drawn towards the one pooled over all records.
    """

    n: Reals
    sums: Reals
    squares: Reals
    pooled: float

    def log_density(self, values: Reals, left_out: Reals | None = None) -> Reals:
        """The log-density of values (any number x records), each by the shadows without the one left out."""
        n, sums, squares = self.n, self.sums, self.squares
        if left_out is not None:
            n, sums, squares = n - 1, sums - left_out, squares - left_out**2
        deviations = np.maximum(squares - sums**2 / n, 0.0)
        variance = (deviations + _PRIOR_FREEDOM * self.pooled) / (n - 1 + _PRIOR_FREEDOM)
        variance = np.maximum(variance, _MIN_VARIANCE)
        return -0.5 * (values - sums / n) ** 2 / variance - 0.5 * np.log(variance)


def _side(values: Reals, side: Bits) -> _Side:
    n = side.sum(axis=0).astype(np.float64)
    sums = np.where(side, values, 0.0).sum(axis=0)
    squares = np.where(side, values**2, 0.0).sum(axis=0)
    pooled = float(np.maximum(squares - sums**2 / n, 0.0).sum() / (n - 1).sum())
    return _Side(n, sums, squares, pooled)


@dataclass(frozen=True, eq=False)
class ShadowSignals:
    """The log-odds of each record's class under each shadow model, and which it was trained on."""

    odds: Reals  # shadows x records
    included: Bits

    @cached_property
    def _centre(self) -> Reals:
        return self.odds.mean(axis=0)

    @cached_property
    def _centred(self) -> Reals:
        return self.odds - self._centre

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        return _side(self._centred, self.included), _side(self._centred, ~self.included)

    def leave_one_out(self) -> Reals:
        """The log-likelihood ratio of each value, by the other shadow models: positive means included."""
        inside, outside = self._sides
        values = self._centred
        return np.where(
            self.included,
            inside.log_density(values, values) - outside.log_density(values),
            inside.log_density(values) - outside.log_density(values, values),
        )

    def released_scores(self, odds: Reals) -> Reals:
        """The log-likelihood ratio of the released model's log-odds, by all shadow models."""
        inside, outside = self._sides
        values = odds - self._centre
        return inside.log_density(values) - outside.log_density(values)

    def area_per_record(self, rng: Generator) -> Reals:
        """The AUC of each record: pairs of models with and without it, scored by the shadows but this pair.

        Scores with only one model left out depend on each other, and their AUC is too low.
        """
        inside, outside = self._sides
        pairs = int(min(inside.n.min(), outside.n.min()))
        wins = np.zeros(self.odds.shape[1])
        for _ in range(_PAIRINGS):
            member, other = (
                _shuffled(self._centred, side, pairs, rng) for side in (self.included, ~self.included)
            )
            with_it, without_it = (
                inside.log_density(values, member) - outside.log_density(values, other)
                for values in (member, other)
            )
            wins += (with_it > without_it).mean(axis=0) + 0.5 * (with_it == without_it).mean(axis=0)
        return wins / _PAIRINGS

    def mean_without(self) -> Reals:
        """The mean log-odds of each record under models that were not trained on it."""
        _, outside = self._sides
        return outside.sums / outside.n + self._centre


def _shuffled(values: Reals, side: Bits, n: int, rng: Generator) -> Reals:
    """Some values of one side for each record, in random order: n x records."""
    order = np.argsort(np.where(side, rng.random(side.shape), 2.0), axis=0)[:n]
    return np.take_along_axis(values, order, axis=0)


def draw_inclusion(n_shadows: int, n_records: int, share: float, rng: Generator) -> Bits:
    """Put each record into the same number of shadow models, at random and independently of the others."""
    order = np.broadcast_to(np.arange(n_shadows)[:, None], (n_shadows, n_records))
    return rng.permuted(order, axis=0) < round(share * n_shadows)


@dataclass(frozen=True, eq=False)
class RecordRates:
    """How well the attack does against each record, and how uncertain its accuracy is."""

    accuracy: Reals
    auc: Reals
    tpr: Reals
    error: float


def record_rates(signals: ShadowSignals, scores: Reals, rng: Generator) -> RecordRates:
    """Estimate the rates of each record from its scores (shadows x records).

    A record has few shadow models, and the luckiest of many records look more exposed than they are: the
    rates of all records are estimated together, and each is drawn towards the others as far as chance
    explains the difference.
    """
    included = signals.included
    right = np.where(included, scores > 0, scores <= 0)
    n_in = included.sum(axis=0)
    accuracy = _balanced_rates(right, included, n_in)
    threshold = np.quantile(scores[~included], 1 - _FPR, method="higher")
    tpr = shrunken_rates((included & (scores > threshold)).sum(axis=0), n_in)
    # Several pairings are worth more comparisons than one, by the variance of the AUC about 1.5 times as many
    # (Hanley and McNeil 1982).
    worth = (1.5 * np.minimum(n_in, len(scores) - n_in)).astype(np.int64)
    wins = np.rint(signals.area_per_record(rng) * worth).astype(np.int64)
    auc = shrunken_rates(wins, worth)
    return RecordRates(accuracy.mean, auc.mean, tpr.mean, float(2 * accuracy.deviation.max()))


def _balanced_rates(right: Bits, included: Bits, n_in: Ints) -> ShrunkenRates:
    """The share of right guesses if models with and without a record were equally many.

    Where a quarter of the models has the record, who says "not included" is right for the other three, and
    a record that is not exposed at all would seem to be. The mean of both shares counts for as many guesses
    as the smaller side allows.
    """
    n_out = len(right) - n_in
    mean = ((right & included).sum(axis=0) / n_in + (right & ~included).sum(axis=0) / n_out) / 2
    worth = 2 * np.minimum(n_in, n_out)
    return shrunken_rates(np.rint(mean * worth).astype(np.int64), worth)


def membership_probability(scores: Reals, included: Bits, released: Reals) -> Reals:
    """The probability that a record with each score is a member, for an attacker who held both for equal.

    It is calibrated on the scores of all records under the shadow models: an increasing function of the
    score, fitted to how often a record was included.
    """
    from sklearn.isotonic import IsotonicRegression

    share = included.mean()
    weights = np.where(included, 0.5 / share, 0.5 / (1 - share))
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
        scores.ravel(), included.ravel().astype(np.float64), weights.ravel()
    )
    return np.asarray(fitted.predict(released), dtype=np.float64)


def expose(challenger: Any, *, begin: Callable[[str], None]) -> Exposure:
    """Train shadow models like the released one, or take those given, and say how exposed each record is."""
    if not isinstance(challenger, HasExposedRecords):
        raise BadInput(
            "exposure of records needs shadow models, and this audit has no training that can be repeated on "
            "any of the records; use a game that trains models, or a finished model with challenger.train"
        )
    records = challenger.exposed_records()
    rng = stream(records.seed, Role.STUDY, _STUDY_BLOCK)
    begin(STEPS[0])
    models, included = _shadows(records, rng)
    begin(STEPS[1])
    examples = records.examples
    odds = signal_matrix(models, examples, log_odds)
    limit = largest_log_odds(odds)
    signals = ShadowSignals(np.clip(odds, -limit, limit), included)
    scores = signals.leave_one_out()
    rates = record_rates(signals, scores, rng)
    chosen = np.arange(len(examples)) if records.chosen is None else records.chosen
    against = AdversaryExposure(
        adversary=ATTACKER,
        basis=_basis(records, len(models)),
        accuracy=rates.accuracy[chosen],
        auc=rates.auc[chosen],
        tpr=rates.tpr[chosen],
        error=rates.error,
    )
    columns = _released_columns(records, signals, scores, limit)
    return Exposure(
        names=records.names[chosen],
        cells=None,
        against=(against,),
        unit="record",
        notes=_notes(records),
        columns={name: values[chosen] for name, values in columns.items()},
        groups=tuple(_groups(records, signals, rates, rng)),
    )


def _shadows(records: ExposedRecords, rng: Generator) -> tuple[Sequence[Classifier], Bits]:
    """Shadow models, and the records that each was trained on: those given, or new ones."""
    if records.imported is not None:
        included = records.imported.included
        fewest = int(np.minimum(included.sum(axis=0), (~included).sum(axis=0)).min())
        if fewest < MIN_SIDE:
            raise BadInput(
                f"challenger.shadows: a record has {fewest} models with it or without it; exposure needs at "
                f"least {MIN_SIDE} of each for every record (32 are usual)"
            )
        return records.imported.models, included
    assert records.trainer is not None
    if records.n_shadows < MIN_SHADOWS:
        raise BadInput(
            f"challenger.exposure_shadows = {records.n_shadows}: each record needs models with and without "
            f"it; use at least {MIN_SHADOWS} (64 is usual)"
        )
    examples = records.examples
    drawn = draw_inclusion(records.n_shadows, len(examples), records.share, rng)
    return train_shadows(examples, drawn, records.trainer, rng, records.n_members), drawn


def _released_columns(
    records: ExposedRecords, signals: ShadowSignals, scores: Reals, limit: float
) -> Mapping[str, Reals]:
    """The score of each record under the finished model, and what probability of membership it gives."""
    if records.released is None:
        return {}
    odds = log_odds(records.released, records.examples)
    released = signals.released_scores(np.clip(odds, -limit, limit))
    probability = membership_probability(scores, signals.included, released)
    return {"score": released, "membership_probability": probability}


def _basis(records: ExposedRecords, n_shadows: int) -> str:
    how = "trained elsewhere" if records.trainer is None else "trained like the released model"
    return (
        f"the likelihood ratio attack (LiRA) over {n_shadows} shadow models, each {how} "
        f"on about {round(records.share * len(records.examples)):,} of the records; a shadow "
        "model is scored by the others. Accuracy is that at the attack's own threshold, above which a member "
        "is more likely than a non-member; the share of members found is at one threshold for all records, "
        "which wrongly accuses 1 % of non-members"
    )


def _notes(records: ExposedRecords) -> tuple[str, ...]:
    size = round(records.share * len(records.examples))
    notes = [UNCERTAINTY]
    if abs(size - records.n_members) > 0.05 * records.n_members:
        fewer = size < records.n_members
        notes.append(
            f"The released model has {records.n_members:,} members, a shadow model about {size:,}: with "
            f"{'fewer' if fewer else 'more'} rows a model memorises each {'more' if fewer else 'less'}, so "
            f"the numbers may be too {'high' if fewer else 'low'}."
        )
    return tuple(notes)


def _groups(
    records: ExposedRecords, signals: ShadowSignals, rates: RecordRates, rng: Generator
) -> list[GroupExposure]:
    """Means over records of the same label, group or kind; nobody can be identified by them."""
    labels = CategoricalColumn(records.examples.labels, records.class_names)
    kinds: dict[str, CategoricalColumn] = {LABEL: labels, **records.groups}
    if np.unique(kinds[LABEL].codes).size == 1:  # only losses are known
        del kinds[LABEL]
    kinds["hard for models without it"] = _lowest(signals.mean_without())
    if records.features is not None:
        kinds["far from other records"] = _lowest(-_distance_to_others(records.features, rng))
    return [
        GroupExposure(
            group=name,
            value=value,
            people=int(rows.sum()),
            accuracy=float(rates.accuracy[rows].mean()),
            tpr=float(rates.tpr[rows].mean()),
        )
        for name, column in kinds.items()
        for value, rows in ((value, column.codes == code) for code, value in enumerate(column.values))
        if rows.any()
    ]


def _lowest(values: Reals) -> CategoricalColumn:
    cut = np.quantile(values, _TAIL)
    return CategoricalColumn((values > cut).astype(np.int64), (f"most extreme {_TAIL:.0%}", "others"))


def _distance_to_others(features: npt.NDArray[Any], rng: Generator) -> Reals:
    """The distance of each record to its fifth nearest neighbour, among a sample of the rows if many.

    Every feature is scaled to its range.
    """
    from sklearn.neighbors import NearestNeighbors

    width = np.ptp(features, axis=0)
    scaled = (features - features.min(axis=0)) / np.where(width > 0, width, 1)
    sample = scaled[rng.permutation(len(scaled))[:_NEIGHBOUR_ROWS]]
    k = min(_NEIGHBOURS + 1, len(sample))
    distances, _ = NearestNeighbors(n_neighbors=k).fit(sample).kneighbors(scaled)
    return np.asarray(distances[:, -1], dtype=np.float64)
