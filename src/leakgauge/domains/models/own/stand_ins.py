"""How an adversary trains networks that stand in for a model whose training it does not know."""

from dataclasses import dataclass

from leakgauge.domains.models.training.asked import require_trainable, schedule_of
from leakgauge.domains.models.training.batches import Sampling
from leakgauge.domains.models.training.learning import Recipe
from leakgauge.domains.models.training.optimizers import Adam


@dataclass(frozen=True, kw_only=True)
class StandIns:
    """A network and its training, without noise; the closer to the model's, the better the attack."""

    epochs: int = 100
    batch: int | None = None
    hidden: tuple[int, ...] = (256, 256)
    rate: float = 0.01
    sampling: Sampling = Sampling.SHUFFLED

    def __post_init__(self) -> None:
        require_trainable(self)

    def recipe(self, n_rows: int) -> Recipe:
        """For a training of so many rows."""
        schedule = schedule_of(self, n_rows, "challenger.recipe")
        return Recipe(schedule=schedule, hidden=self.hidden, optimizer=Adam(rate=self.rate))
