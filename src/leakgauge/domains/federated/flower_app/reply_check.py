"""Which parts of a client's replies depend on its rows, and which tell two worlds apart for certain."""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Transcript
from leakgauge.domains.federated.flower_app.client_games import (
    AppRows,
    Arrays,
    ClientAnswer,
    ClientGame,
    field_words,
    fields_and_layout,
)
from leakgauge.domains.federated.flower_app.client_process import ClientProcess
from leakgauge.domains.federated.flower_app.planted_layers import LOSS_PLANT, TargetFeatures, silent_layers
from leakgauge.referee.noise_tests import CERTAIN
from leakgauge.theory.stated_promise import StatedPromise

WEIGHTS = "all weights"  # of a reply, taken as one field
_PROBES = 12  # of pairs of clients, and of clients with other rows; at least two for each target
_LEARNING = 6  # games of each world that fix a direction, and as many that fix the rules
_MOST_GAMES = 300  # of each world: enough to be certain up to an epsilon of 3

World = Literal["in", "out", "others", "elsewhere"]
"""The target's row, another in its place, other rows altogether, or the first again in another client."""


@dataclass(frozen=True, kw_only=True)
class ReplyCheck:
    """What a client's replies showed before the rounds, with all of its noise.

    Attributes:
        varying: Fields that differed between clients with other rows and the same seed.
        telling: Those and weights by which a rule, fixed by earlier games, was right in all games.
        games: With the target's row, if so many rule out the promise; as many were without it.
        repeats: Whether weights that no row moves changed, by the same amounts with two seeds.
        known: Names of fields, and layouts, of replies to messages to train.
        unread: What replies may hold of other data or messages, that no game decides about.
    """

    varying: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    games: int = 0
    repeats: bool = False
    known: frozenset[tuple[str, float]] = frozenset()
    unread: tuple[str, ...] = ()

    def columns(self, fields_read: Collection[str], fields_seen: Set[tuple[str, float]]) -> Transcript:
        """Return it as a transcript, beside what an attack read, and what only came back in its rounds."""
        new = {name for name, _ in fields_seen - self.known} - {*self.varying}
        unread = (*self.unread, *map(field_words, new))
        if not (self.varying or self.telling or self.repeats or unread):
            return {}
        shown = {name: np.asarray(getattr(self, name)) for name in ("varying", "telling", "games", "repeats")}
        names = {"fields_read": fields_read, "unread": unread}
        return shown | {name: np.array(sorted(found), str) for name, found in names.items()}


def check_replies(
    process: ClientProcess,
    rows: AppRows,
    features: TargetFeatures,
    promise: StatedPromise | None,
    iterations: int = 1,
) -> ReplyCheck:
    """Compare the replies of clients in pairs of worlds that differ in one row, or in all rows.

    ``features`` are those of the first target.
    """
    check = _Check(process, rows, features)
    varying = check.varying()
    names = (WEIGHTS, *process.description.sent, *varying)
    tried = 3 * len(names)  # with two models, and in the last training round
    games, by_chance = (
        next((n for n in range(_MOST_GAMES) if tried * one.chance_told(n) < CERTAIN), 0) if one else 0
        for one in (promise, StatedPromise(epsilon=0.0))
    )
    return ReplyCheck(
        varying=varying,
        telling=check.telling(names, games or by_chance),
        games=games,
        repeats=check.repeats(),
        known=frozenset(check.known),
        unread=tuple(check.unread(iterations)),
    )


class _Check:
    def __init__(self, process: ClientProcess, rows: AppRows, features: TargetFeatures) -> None:
        about = process.description
        self._process, self._rows, self._stack = process, rows, about.stack
        self._silent = silent_layers(about.sent, about.stack)
        self._last, self.known = about.n_messages, set[tuple[str, float]]()
        self._crafted = LOSS_PLANT.craft(about.sent, about.stack, features, rows.per_client).arrays

    def _play(self, arrays: Arrays, world: World, number: int, seed: int, /, **said: Any) -> ClientAnswer:
        """Let a client answer in a world; the number says which target it is about, and the other rows."""
        rows, target = self._rows, self._rows.targets[number % len(self._rows.targets)]
        rng = np.random.default_rng([number, world == "others"])
        drawn = rows.draw(rows.reference, target if world in ("in", "elsewhere") else None, rng)
        client = self._process.description.other_client if world == "elsewhere" else None
        game = ClientGame(arrays=arrays, rows=drawn, seed=seed, partition=client, **said)
        return next(iter(self._process.play([game])))

    def varying(self) -> tuple[str, ...]:
        """The fields that depend on data, by clients with the same seed and other rows or numbers."""
        found: set[str] = set()
        n_targets = len(self._rows.targets)
        games = [(n, "train") for n in range(max(_PROBES, 4 * n_targets))]
        games += [(n, kind) for n in range(4 * n_targets) for kind in self._process.description.other_kinds]
        for number, kind in games:
            arrays = self._crafted if number // n_targets % 2 else {}
            sent = {"kind": kind, "number": self._last if number // n_targets % 4 > 1 else 1}
            first, *others = (
                self._play(arrays, world, number, number, **sent).fields for world in get_args(World)
            )
            found |= {name for one in others for name, _ in one.items() ^ first.items()}
            if kind == "train":
                self.known.update(*map(fields_and_layout, (first, *others)))
        return tuple(sorted(found))

    def unread(self, iterations: int) -> Iterator[str]:
        """What the client loads besides the rows of a game and puts into weights; state; further messages."""
        about, worlds = self._process.description, get_args(World)
        here, *_, there = (self._play({}, world, 0, 0, protection="off").update for world in worlds)
        same = (np.allclose(here[name], there[name], rtol=1e-4, atol=1e-7, equal_nan=True) for name in here)
        if about.other_client is None:
            yield "data that the client loads in another way (no other client has as many records to compare)"
        elif not all(same):
            yield "data that the client loads in another way, and that change its weights"
        if about.keeps_state:
            yield "what the client keeps from earlier messages"
        if (n := about.n_messages) > iterations:
            yield f"further messages (the app sends {n}; audited in each round: iterations = {iterations})"

    def repeats(self) -> bool:
        """Whether weights before units that are never active change, by the same amounts with two seeds."""
        name = self._stack.weights[0]
        moved, again = (self._play(self._silent, "in", 0, seed).update[name] for seed in (1, 2))
        return bool(np.any(moved) and np.allclose(moved, again, rtol=1e-2, atol=0))

    def telling(self, names: Sequence[str], games: int) -> tuple[str, ...]:
        """The names by which two worlds are told apart in all games, by rules that earlier games fixed."""
        found: set[str] = set()
        for arrays, number in ((self._crafted, 1), ({}, 1), (self._crafted, self._last)):
            if WEIGHTS not in found:
                found |= {*self._telling(arrays, names, games, number=number)}
        return tuple(sorted(found))

    def _telling(self, arrays: Arrays, names: Sequence[str], games: int, **said: int) -> tuple[str, ...]:
        """The same for one model; a rule is a threshold, for weights along the direction that tells most."""
        worlds: tuple[World, World] = ("in", "out")
        directions = {name: np.zeros(1) for name in self._process.description.sent}
        for seed in range(_LEARNING):
            inside, outside = (self._play(arrays, world, 0, seed, **said).update for world in worlds)
            directions = {name: one + inside[name] - outside[name] for name, one in directions.items()}

        def values(seed: int) -> Reals:
            """Names x worlds; NaN where a field is missing."""
            columns = []
            for answer in (self._play(arrays, world, 0, seed, **said) for world in worlds):
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
