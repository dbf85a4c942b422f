"""Which rows of a Flower app are whose, and how a client's rows are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.domains.federated.flower_app.client_games import RowKey


@dataclass(frozen=True, eq=False)
class AppRows:
    """Which rows of the app are targets, which are the attacker's own, and which clients draw theirs from."""

    targets: tuple[RowKey, ...]
    reference: tuple[RowKey, ...]
    pool: tuple[RowKey, ...]
    per_client: int

    def draw(
        self, rows: Sequence[RowKey], target: RowKey | None, rng: Generator, *, copies: int = 1
    ) -> tuple[RowKey, ...]:
        """Draw the rows of one client; a target takes the place of one of them, or of several."""
        again = len(rows) < self.per_client
        drawn = [rows[place] for place in rng.choice(len(rows), self.per_client, replace=again)]
        place = int(rng.integers(len(drawn)))  # drawn always, so that only the target differs
        if target is not None:
            for copy in range(copies):
                drawn[(place + copy) % len(drawn)] = target
        return tuple(drawn)
