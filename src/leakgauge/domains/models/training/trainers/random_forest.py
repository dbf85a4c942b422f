"""A random forest (Breiman 2001), trained without noise: it promises nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.noise_calibration import TrainingMechanism
from leakgauge.domains.models.training.trainer import Examples, require_no_noise
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import ProgressListener


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Average ``trees`` decision trees, each grown on a bootstrap sample of the rows.

    Trees grow until a leaf has rows of one class only, unless ``max_depth`` or ``min_leaf`` (rows in a leaf)
    stop them earlier. Without ``bootstrap`` every tree sees all rows, and the forest fits them exactly.
    """

    trees: int = 100
    max_depth: int | None = None
    min_leaf: int = 1
    bootstrap: bool = True

    guarantee = None
    group_guarantee = None

    def __post_init__(self) -> None:
        for name in ("trees", "max_depth", "min_leaf"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise BadInput(f"{name} must be >= 1, got {value}")

    def prepare(self, mechanism: TrainingMechanism, n_rows: int) -> "Trainer":
        require_no_noise(mechanism, "random_forest")
        return self

    def without_noise(self) -> "Trainer":
        return self

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> "ForestClassifier":
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            self.trees,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_leaf,
            bootstrap=self.bootstrap,
            random_state=int(rng.integers(2**32)),
            n_jobs=1,
        )
        members = examples.present(present)
        if not len(members):
            raise BadInput("random_forest: no row is left to train on; raise challenger.members")
        if watch is not None:
            watch(f"growing {self.trees} trees")
        forest.fit(members.rows, members.labels)
        return ForestClassifier(forest, examples.classes)


@dataclass(frozen=True, eq=False)
class ForestClassifier:
    """A fitted forest; its probabilities include one more vote that is split evenly, so that none is 0."""

    forest: Any
    classes: int

    def log_probabilities(self, rows: Floats) -> Reals:
        votes = np.zeros((len(rows), self.classes))
        if len(rows):
            votes[:, self.forest.classes_] = self.forest.predict_proba(rows)
        trees = len(self.forest.estimators_)
        return np.log((trees * votes + 1 / self.classes) / (trees + 1))
