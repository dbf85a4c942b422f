"""What of a block of rounds about models reaches an adversary, depending on its knowledge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from leakgauge.core.game import Reals
from leakgauge.domains.models.played import Model, Round, SeenStep
from leakgauge.domains.models.training.learning import Examples


@dataclass(frozen=True, eq=False)
class Models(Sequence[Any]):
    """The models of a block; each is trained when it is first asked for."""

    _rounds: Sequence[Round] = field(repr=False)

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return Models(self._rounds[position])
        return self._rounds[position].model

    def __iter__(self) -> Iterator[Model]:
        return (one.model for one in self._rounds)


@dataclass(frozen=True, eq=False)
class Seen:
    """A block as whoever may ask the models sees it: models, and the records in question."""

    models: Sequence[Model]
    shown: Sequence[Examples]


@dataclass(frozen=True, eq=False)
class SeenLoss(Seen):
    """The same, and the mean loss of each model on its members."""

    mean_losses: Reals


@dataclass(frozen=True, eq=False)
class SeenRecords:
    """The records in question alone."""

    shown: Sequence[Examples]


@dataclass(frozen=True, eq=False)
class SeenTraining:
    """A training as the strong adversary sees it."""

    _round: Round = field(repr=False)

    @property
    def model(self) -> Model:
        return self._round.model

    def steps(self) -> Iterator[SeenStep]:
        return self._round.steps()


@dataclass(frozen=True, eq=False)
class SeenSteps:
    """A block as the strong adversary sees it."""

    rounds: Sequence[SeenTraining]
