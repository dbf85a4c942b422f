"""The mean of the rows of each class, with noise on their sums or without; the nearest mean decides."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.training.noise_calibration import TrainingMechanism
from leakgauge.domains.models.training.trainer import Examples, require_no_noise
from leakgauge.mechanisms import gaussian
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import ProgressListener

_FEWEST = 1.0  # rows of a class, below which noise makes its mean meaningless

_TINY = 1e-300


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Classify by the nearest mean of a class; the mechanism "gaussian" adds its noise to sums and counts.

    Rows are clipped to the length ``clip``, by default half the square root of the number of features, which
    are in [0, 1]. A larger ``sharpness`` makes the model more certain; it costs no privacy.
    """

    clip: float | None = None
    sharpness: float = 10.0

    def __post_init__(self) -> None:
        for name in ("clip", "sharpness"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise BadInput(f"{name} must be > 0 and finite, got {value}")

    def prepare(self, mechanism: TrainingMechanism, n_rows: int) -> "MeansTrainer":
        require_no_noise(replace(mechanism, sum_noise=None), "noisy_mean")
        if (noise := mechanism.sum_noise) is not None and not isinstance(noise, gaussian.Mechanism):
            raise BadInput(
                f"mechanism: name = {mechanism.name!r} is calibrated to one value, and noisy_mean releases "
                'many at once; use name = "gaussian"'
            )
        return MeansTrainer(
            parameters=self, relation=mechanism.relation, rows=n_rows, noise=mechanism.sum_noise
        )


@dataclass(frozen=True, kw_only=True)
class MeansTrainer:
    """Computes means of the rows of each class; ``noise`` is for sums that one row moves by 1."""

    parameters: Trainer
    relation: Relation
    rows: int  # of the released model
    noise: AdditiveNoise | None

    @property
    def sensitivity(self) -> float:
        """How far one row moves all sums and counts together, in clips (L2).

        A row adds its features and one clip to the count: sqrt(2) clips. Where another row replaces it, both
        change, in different classes at most: 2 clips. In one class the counts stay, and since features are
        not negative the sums move by at most sqrt(2).
        """
        return sqrt(2) if self.relation is Relation.ADD_REMOVE else 2.0

    @property
    def guarantee(self) -> Guarantee | None:
        return None if self.noise is None else self.noise.guarantee

    @property
    def group_guarantee(self) -> Guarantee | None:
        """All rows are replaced, each of which moves the sums by at most 2 clips."""
        if self.noise is None:
            return None
        moved = self.rows * 2.0 / self.sensitivity
        return replace(
            self.noise.scaled_to(moved, self.noise.noise_scale).guarantee,
            unit=Unit.GROUP,
            relation=Relation.REPLACE_ONE,
            nominal_epsilon=self.noise.guarantee.epsilon,
            nominal_unit=Unit.RECORD,
        )

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> "NearestMean":
        members = examples.present(present)
        if watch is not None:
            watch("computing means")
        rows = np.maximum(members.rows.astype(np.float64), 0.0)
        clip = self.parameters.clip or sqrt(rows.shape[1]) / 2
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows *= np.minimum(1.0, clip / np.maximum(lengths, _TINY))
        sums = np.zeros((examples.classes, rows.shape[1] + 1))  # the last column counts, in clips
        np.add.at(sums, members.labels, np.column_stack([rows, np.full(len(rows), clip)]))
        if self.noise is not None:
            scale = self.noise.noise_scale * self.sensitivity * clip
            sums = self.noise.scaled_to(self.sensitivity * clip, scale).sample(sums, rng)
        counts = np.maximum(sums[:, -1] / clip, _FEWEST)
        return NearestMean(sums[:, :-1] / counts[:, None], np.log(counts), clip, self.parameters.sharpness)

    def without_noise(self) -> "MeansTrainer":
        return replace(self, noise=None)


@dataclass(frozen=True, eq=False)
class NearestMean:
    """Probabilities that fall with the squared distance from the mean of each class."""

    means: Reals  # classes x features
    log_counts: Reals
    clip: float
    sharpness: float

    def log_probabilities(self, rows: Floats) -> Reals:
        given = np.asarray(rows, dtype=np.float64)
        lengths = np.maximum(np.linalg.norm(given, axis=1, keepdims=True), _TINY)
        clipped = given * np.minimum(1.0, self.clip / lengths)
        distances = np.square(clipped[:, None, :] - self.means).sum(axis=2)
        logits = self.log_counts - self.sharpness * distances
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
