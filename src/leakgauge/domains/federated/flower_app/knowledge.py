"""What the server of a Flower app may know: targets, rows of its own, and the app that it sends out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Transcript
from leakgauge.domains.federated.flower_app.challenger import AppBlock, AppChallenger, AppView, mean_answer
from leakgauge.domains.federated.flower_app.client_games import (
    AppRows,
    AppSettings,
    Arrays,
    ClientAnswer,
    ClientGame,
    LinearStack,
    Protection,
    RowKey,
)
from leakgauge.domains.federated.flower_app.client_process import client_process
from leakgauge.domains.federated.flower_app.noisy_channel import NoisyChannel
from leakgauge.domains.federated.flower_app.reply_check import ReplyCheck


@dataclass(frozen=True, eq=False)
class AppServerKnowledge:
    """The targets' rows and labels, the server's own rows, and the app, which it can run itself.

    ``rows`` has no row of a client.
    """

    settings: AppSettings
    rows: AppRows
    labels: tuple[int, ...]
    sent: Arrays  # by an honest server
    stack: LinearStack
    protection: Protection
    replies: ReplyCheck
    iterations: int = 1
    channels: tuple[NoisyChannel, ...] = ()

    @property
    def n_others(self) -> int:
        """The number of rows besides a target that a client has."""
        return self.rows.per_client - 1

    def view(self, block: AppBlock) -> AppView:
        return AppView(len(block.members), block)

    def transcript(self, view: AppView) -> Transcript:
        """What replies showed before the rounds, and the fields of them that the attack used."""
        return self.replies.columns(view.fields_read, view.fields_seen)

    def simulate(
        self,
        arrays: Arrays,
        target: int,
        members: Sequence[bool],
        rng: Generator,
        *,
        protection: Protection | None = None,
        features: bool = False,
        rows: Sequence[RowKey] | None = None,
        copies: int = 1,
    ) -> list[tuple[ClientAnswer, Sequence[int]]]:
        """Run the app's client on rows of the server's own, with the target or without.

        With each answer come the positions of the target among the rows. Its update is the mean of those of
        all iterations. ``rows`` are those to draw from, all of the server's own unless told; a member can be
        among them in several ``copies``.
        """
        process = client_process(self.settings)
        answers: list[tuple[ClientAnswer, Sequence[int]]] = []
        for member in members:
            key = self.rows.targets[target]
            own = self.rows.reference if rows is None else rows
            drawn = self.rows.draw(own, key if member else None, rng, copies=copies)
            games = [
                ClientGame(
                    arrays=arrays,
                    rows=drawn,
                    seed=int(game_seed),
                    protection=self.protection if protection is None else protection,
                    features=features,
                    number=number,
                )
                for number, game_seed in enumerate(rng.integers(2**62, size=self.iterations), 1)
            ]
            played = list(process.play(games))
            places = [place for place, row in enumerate(drawn) if row == key]
            answers.append((mean_answer(played), places))
        return answers


def app_knowledge(challenger: AppChallenger) -> AppServerKnowledge:
    """Give the server what it may know of an app's challenger."""
    return AppServerKnowledge(
        settings=challenger.settings,
        rows=replace(challenger.rows, pool=()),
        labels=challenger.labels,
        sent={name: np.asarray(array) for name, array in challenger.description.sent.items()},
        stack=challenger.description.stack,
        protection=challenger.protection,
        replies=challenger.replies,
        iterations=challenger.iterations,
        channels=challenger.description.channels if challenger.protection == "on" else (),
    )
