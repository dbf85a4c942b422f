"""A multilayer perceptron, trained by gradient descent: plain, or with noise (DP-SGD, DP-Adam)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from numpy.random import Generator

from leakgauge.core.arrays import Bits
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.guarantee import training_group_guarantee
from leakgauge.domains.models.training import gradient_descent, mlp, noise_calibration, optimizers
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.domains.models.training.trainer import Classifier, Examples, PreparedTrainer, training_kind
from leakgauge.support.progress import ProgressListener
from leakgauge.support.work_count import TRAINING, counted_work

DEFAULT_BATCH = 200  # rows of a batch where a plan does not say
DEFAULT_OPTIMIZER: optimizers.OptimizerName = "adam"


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """A network with ``hidden`` layers; ``batch`` rows are in a batch (200, or all rows if there are fewer).

    ``rate`` is the learning rate. What noise promises depends on the ``sampling`` of batches.
    """

    epochs: int = 100
    batch: int | None = None
    hidden: tuple[int, ...] = (256, 256)
    rate: float = 0.01
    sampling: BatchSampling = BatchSampling.POISSON

    def __post_init__(self) -> None:
        if not self.epochs >= 1:
            raise BadInput(f"epochs must be >= 1, got {self.epochs}")
        if self.batch is not None and not self.batch >= 1:
            raise BadInput(f"batch must be >= 1, got {self.batch}")
        if not all(units >= 1 for units in self.hidden):
            raise BadInput(f"hidden: a layer needs one unit or more, got {list(self.hidden)}")
        if not 0 < self.rate < float("inf"):
            raise BadInput(f"rate must be > 0 and finite, got {self.rate}")

    def prepare(self, mechanism: noise_calibration.TrainingMechanism, n_rows: int) -> "NetworkTrainer":
        """Calibrate the noise of the mechanism to the steps of this training."""
        schedule = self.schedule(n_rows)
        recipe = gradient_descent.TrainingRecipe(
            schedule=schedule,
            noise=None if mechanism.noise is None else mechanism.noise.noise(schedule),
            hidden=self.hidden,
            optimizer=optimizers.OPTIMIZERS[mechanism.optimizer or DEFAULT_OPTIMIZER](rate=self.rate),
        )
        return NetworkTrainer(recipe=recipe, promise=mechanism.noise)

    def schedule(self, n_rows: int) -> TrainingSchedule:
        """The epochs and batches of a training on ``n_rows``."""
        batch = min(DEFAULT_BATCH, n_rows) if self.batch is None else self.batch
        if batch > n_rows:
            raise BadInput(f"batch: {batch} rows exceed the {n_rows} of a training; lower batch")
        return TrainingSchedule(rows=n_rows, batch=batch, epochs=self.epochs, sampling=self.sampling)


@dataclass(frozen=True, kw_only=True)
class NetworkTrainer:
    """Trains networks by a recipe; ``promise`` is the table that its noise was calibrated from."""

    recipe: gradient_descent.TrainingRecipe
    promise: noise_calibration.DpTraining | None = field(default=None, compare=False)

    @property
    def guarantee(self) -> Guarantee | None:
        return None if self.promise is None else self.promise.guarantee(self.recipe.schedule)

    @property
    def group_guarantee(self) -> Guarantee | None:
        return None if self.promise is None else training_group_guarantee(self.promise, self.recipe.schedule)

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> mlp.MlpClassifier:
        """Train on any number of rows: as many epochs, in batches that are no larger, with the same sigma."""
        epochs = self.recipe.schedule.epochs
        on_epoch = None if watch is None else lambda epoch: watch(f"epoch {epoch + 1} of {epochs}")
        return gradient_descent.train_network(
            examples, gradient_descent.recipe_for_rows(self.recipe, len(examples)), rng, on_epoch, present
        )

    def without_noise(self) -> "NetworkTrainer":
        return NetworkTrainer(recipe=replace(self.recipe, noise=None))


def counted_training(
    trainer: PreparedTrainer, rows: Examples, fit: Callable[[PreparedTrainer], Classifier]
) -> Classifier:
    """Train, and count it; where work is sampled, perhaps another model of its kind is returned."""
    return counted_work(TRAINING, training_kind(trainer, rows), lambda: fit(trainer))


def network_recipe(trainer: PreparedTrainer, why: str) -> gradient_descent.TrainingRecipe:
    """The recipe of a network's training; other kinds of models are refused, ``why`` begins the message."""
    if not isinstance(trainer, NetworkTrainer):
        raise BadInput(
            f"{why}, and challenger.trainer names another kind of model than a network; use form = "
            '"retrained", or trainer = "network"'
        )
    return trainer.recipe
