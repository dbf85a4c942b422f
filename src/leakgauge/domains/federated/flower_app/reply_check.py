"""Which parts of a client's replies depend on its rows, and which tell two worlds apart for certain."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Transcript
from leakgauge.domains.federated.flower_app.client_games import (
    AppRows,
    Arrays,
    ClientAnswer,
    ClientGame,
    Kind,
)
from leakgauge.domains.federated.flower_app.client_process import ClientProcess
from leakgauge.domains.federated.flower_app.planted_layers import LOSS_PLANT, TargetFeatures, silent_layers
from leakgauge.referee.noise_tests import CERTAIN
from leakgauge.theory.stated_promise import StatedPromise

WEIGHTS = "all weights"  # of a reply, taken as one field
_PROBES = 12  # of pairs of clients, and of clients with other rows; at least two for each target
_LEARNING = 6  # games of each world that fix a direction, and as many that fix the rules
_MOST_GAMES = 300  # of each world: enough to be certain up to an epsilon of 3

OTHER_KINDS: tuple[Kind, ...] = ("evaluate", "query")
World = Literal["in", "out", "others"]  # the target's row, another in its place, other rows altogether


@dataclass(frozen=True, kw_only=True)
class ReplyCheck:
    """What a client's replies showed before the rounds, with all of its noise.

    Attributes:
        varying: Fields that differed between clients with other rows and the same seed.
        telling: Those by which a rule, fixed by earlier games, was right in all games.
        games: With the target's row; as many were without it.
        repeats: Whether weights that no row moves changed, by the same amounts with two seeds.
    """

    varying: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    games: int = 0
    repeats: bool = False

    def columns(self, fields_read: Collection[str]) -> Transcript:
        """Return it as a transcript, beside what an attack read."""
        if not (self.varying or self.telling or self.repeats):
            return {}
        return {name: np.asarray(value) for name, value in vars(self).items()} | {
            "fields_read": np.array(sorted(fields_read), str)
        }


def check_replies(
    process: ClientProcess, rows: AppRows, features: TargetFeatures, promise: StatedPromise | None
) -> ReplyCheck:
    """Compare the replies of clients in pairs of worlds that differ in one row, or in all rows.

    ``features`` are those of the first target.
    """
    check = _Check(process, rows, features)
    varying, games = check.varying(), 0
    names = (WEIGHTS, *process.description.sent, *varying)
    tried = 2 * len(names)  # with two models
    if promise is not None:
        games = next((n for n in range(_MOST_GAMES) if tried * promise.chance_told(n) < CERTAIN), 0)
    telling = check.telling(names, games) if games else ()
    return ReplyCheck(varying=varying, telling=telling, games=games, repeats=check.repeats())


class _Check:
    def __init__(self, process: ClientProcess, rows: AppRows, features: TargetFeatures) -> None:
        about = process.description
        self._process, self._rows, self._stack = process, rows, about.stack
        self._silent = silent_layers(about.sent, about.stack)
        self._crafted = LOSS_PLANT.craft(about.sent, about.stack, features, rows.per_client).arrays

    def _play(
        self, arrays: Arrays, world: World, number: int, seed: int, kind: Kind = "train"
    ) -> ClientAnswer:
        """Let a client answer in a world; the number says which target it is about, and the other rows."""
        rows, target = self._rows, self._rows.targets[number % len(self._rows.targets)]
        rng = np.random.default_rng([number, world == "others"])
        drawn = rows.draw(rows.reference, target if world == "in" else None, rng)
        game = ClientGame(arrays=arrays, rows=drawn, seed=seed, kind=kind)
        return next(iter(self._process.play([game])))

    def varying(self) -> tuple[str, ...]:
        """The fields that depend on the rows, by clients with the same seed and other rows."""
        found: set[str] = set()
        n_targets = len(self._rows.targets)
        games: list[tuple[int, Kind]] = [(n, "train") for n in range(max(_PROBES, 2 * n_targets))]
        games += [(n, kind) for n in range(2 * n_targets) for kind in OTHER_KINDS]
        for number, kind in games:
            arrays = self._crafted if number // n_targets % 2 else {}
            first, *others = (
                self._play(arrays, world, number, number, kind).fields for world in ("in", "out", "others")
            )
            found |= {name for one in others for name, _ in one.items() ^ first.items()}
        return tuple(sorted(found))

    def repeats(self) -> bool:
        """Whether weights before units that are never active change, by the same amounts with two seeds."""
        name = self._stack.weights[0]
        moved, again = (self._play(self._silent, "in", 0, seed).update[name] for seed in (1, 2))
        return bool(np.any(moved) and np.allclose(moved, again, rtol=1e-2, atol=0))

    def telling(self, names: Sequence[str], games: int) -> tuple[str, ...]:
        """The names by which two worlds are told apart in all games, by rules that earlier games fixed."""
        found = self._telling(self._crafted, names, games)
        return found if WEIGHTS in found else tuple(sorted({*found, *self._telling({}, names, games)}))

    def _telling(self, arrays: Arrays, names: Sequence[str], games: int) -> tuple[str, ...]:
        """The same for one model; a rule is a threshold, for weights along the direction that tells most."""
        worlds: tuple[World, World] = ("in", "out")
        directions = {name: np.zeros(1) for name in self._process.description.sent}
        for seed in range(_LEARNING):
            inside, outside = (self._play(arrays, world, 0, seed).update for world in worlds)
            directions = {name: one + inside[name] - outside[name] for name, one in directions.items()}

        def values(seed: int) -> Reals:
            """Names x worlds; NaN where a field is missing."""
            columns = []
            for answer in (self._play(arrays, world, 0, seed) for world in worlds):
                found = {name: float(np.sum(answer.update[name] * one)) for name, one in directions.items()}
                found |= {WEIGHTS: sum(found.values()), **answer.fields}
                columns.append([found.get(name, np.nan) for name in names])
            return np.array(columns).T

        learned = np.array([values(_LEARNING + number) for number in range(_LEARNING)])
        sign = np.sign(learned[0, :, 0] - learned[0, :, 1])
        low = (learned[..., 0] * sign).min(axis=0)
        high = (learned[..., 1] * sign).max(axis=0)
        right, cut = low > high, (low + high) / 2
        for number in range(games):
            if not right.any():
                break
            found = values(2 * _LEARNING + number) * sign[:, None]
            right &= (found[:, 0] > cut) & (found[:, 1] < cut)
        return tuple(name for name, told in zip(names, right) if told)
