"""The control of a finished model without dependence: its records, split anew at random, and models of them.

Humphries et al. (2023) compare a model whose members have something in common with one trained on the same
rows after members and others were pooled and shuffled. What an attack finds only in the first is what
distinguishes members from others, and not what a model memorises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins, NoControl
from leakgauge.domains.models.data.dataset import CategoricalColumn
from leakgauge.domains.models.games.membership_game import RoundRows
from leakgauge.domains.models.knowledge import BlackBoxKnowledge, CheckpointsKnowledge, TrainingLossKnowledge
from leakgauge.domains.models.release import TrainingRound
from leakgauge.domains.models.training.checkpoints import checkpointed
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer

NOTE = (
    "control without dependence: in each round members and others are pooled and split anew at random"
    "{within}, and a model is trained on the new members; what attacks find in your model but not here is "
    "what distinguishes your members from the others"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ResplitChallenger(ChallengerDefaults):
    """Owns the records of a finished model, and trains a model on as many random members in each round.

    ``sources`` are codes of the groups within which records are split: each has the same share of members in
    every round as all records together.
    """

    table: Examples
    asked: Ints  # rows in question; the others are the attacker's
    n_members: int
    trainer: PreparedTrainer
    sources: Ints
    features: Reals | None
    rows_are_numbered: bool
    digest: str
    notes: tuple[str, ...] = ()

    guarantee = None

    @property
    def n_targets(self) -> int:
        return self.asked.size

    @property
    def coins(self) -> Coins:
        return Coins.GIVEN

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        """Members drawn within each source, as many as in the model."""
        return np.array([self._draw(rng) for _ in range(n_rounds)])

    def _draw(self, rng: Generator) -> Bits:
        """Every beginning of this order has about the same share of each source."""
        order = np.empty(self.n_targets)
        for source in np.unique(self.sources):
            rows = rng.permutation(np.flatnonzero(self.sources == source))
            order[rows] = (np.arange(rows.size) + rng.random(rows.size)) / rows.size
        members = np.zeros(self.n_targets, dtype=np.bool_)
        members[np.argsort(order)[: self.n_members]] = True
        return members

    def release(self, members: Bits, rng: Generator) -> list[TrainingRound]:
        seeds = rng.integers(2**63, size=len(members)).tolist()
        return [
            TrainingRound(
                self.table,
                RoundRows(training=self.asked[row], shown=self.asked, members=row),
                self.trainer,
                seed,
            )
            for row, seed in zip(members, seeds)
        ]

    def control(self) -> NoControl:
        return NoControl(reason="this audit is itself a control of a finished model")

    def utility_of(self, block: Sequence[TrainingRound]) -> dict[str, Reals]:
        """The accuracy of the models on members and on other records."""
        return {
            "members": np.array([training.accuracy(training.rows.trained_on) for training in block]),
            "others": np.array([training.accuracy(training.rows.others) for training in block]),
        }

    def knowledge(self, name: str) -> Any:
        """Give an attacker what it may know."""
        kinds = {
            "black_box": BlackBoxKnowledge,
            "training_loss": TrainingLossKnowledge,
            "checkpoints": CheckpointsKnowledge,
        }
        if name not in kinds:
            raise BadInput(
                f"knowledge {name!r} is not possible in the control without dependence, where members are "
                f"drawn at random; use {', '.join(kinds)}"
            )
        return kinds[name](
            reference=self.table.take(np.setdiff1d(np.arange(len(self.table)), self.asked)),
            n_members=self.n_members,
            trainer=checkpointed(self.trainer) if name == "checkpoints" else self.trainer,
            targets=self.table.take(self.asked),
            rows_are_numbered=self.rows_are_numbered,
            features=self.features,
        )


def sources_of(groups: Sequence[CategoricalColumn], asked: Ints) -> tuple[Ints, int]:
    """A code for each record in question and the number of sources: all combinations of its groups."""
    codes = np.stack([group.codes[asked] for group in groups]) if groups else np.zeros((1, asked.size))
    kinds, places = np.unique(codes, axis=1, return_inverse=True)
    return places.reshape(-1).astype(np.int64), kinds.shape[1]


def resplit_challenger(
    table: Examples,
    asked: Ints,
    n_members: int,
    trainer: PreparedTrainer,
    groups: Sequence[CategoricalColumn],
    *,
    features: Reals | None,
    rows_are_numbered: bool,
    digest: str,
    notes: Sequence[str],
) -> ResplitChallenger:
    """Make the control of records; those in question are split within their groups."""
    sources, n_sources = sources_of(groups, asked)
    within = f", within each of {n_sources} groups" if n_sources > 1 else ""
    return ResplitChallenger(
        table=table,
        asked=asked,
        n_members=n_members,
        trainer=trainer,
        sources=sources,
        features=features,
        rows_are_numbered=rows_are_numbered,
        digest=sha256(f"resplit {digest} {n_sources}".encode()).hexdigest(),
        notes=(NOTE.format(within=within), *notes),
    )
