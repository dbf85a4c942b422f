"""An experiment of section IV: rows, what members have in common, and the games that are played with them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.humphries23.setting import (
    ALL,
    AVERAGE,
    BLIND,
    EPOCHS,
    OPTIMAL,
    REPEATS,
    SHADOW,
    noise,
    write_audit,
    write_epsilon,
)
from leakgauge.papers.paper import Scale, Scope
from leakgauge.verdict import Verdict

Epsilons: TypeAlias = tuple[float | None, ...]
STAND_IN = 500  # members of a game on generated rows
GENERATED = DataSet(
    name="generated",
    words="generated rows",
    table='{ source = "synthetic", rows = 4000, components = 4 }',
)


@dataclass(frozen=True)
class Game:
    """One game: an experiment at a nominal epsilon, with or without what members have in common."""

    experiment: str
    epsilon: float | None
    control: bool = False

    @property
    def audit(self) -> str:
        """The name of its audit."""
        epsilon = "none" if self.epsilon is None else f"{self.epsilon:g}"
        return f"{self.experiment}-{epsilon}-{'iid' if self.control else 'dependent'}"

    @property
    def words(self) -> str:
        return f"{write_epsilon(self.epsilon)}, {'IID' if self.control else 'non-IID'}"


Verdicts: TypeAlias = Mapping[str, Verdict]  # by label
Games: TypeAlias = Mapping[Game, Verdicts]


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """Which rows, who is a member, and how much is played at each scale.

    ``dependence`` is what members have in common, as a plan says it, ``stand_in`` the same on generated rows.
    Without ``members`` all rows of the group are. Then nobody else has such rows: the blind control plays
    with fewer members and others, ``blind``, and learns from the rest.
    """

    name: str
    words: str
    data: Callable[[Scope], DataSet | None]
    dependence: str
    stand_in: str = 'name = "source", group = "component", members = "0"'
    members: Mapping[Scale, int] = field(default_factory=dict)
    blind: tuple[int, int] | None = None
    batch: int = 200
    validation: int = 0
    epsilons: Mapping[Scale, Epsilons] = field(default_factory=lambda: {Scale.QUICK: (1.0,), Scale.FULL: ALL})
    controlled: bool = True
    shadows: bool = False  # whether enough rows are left for them
    drawn: bool = True  # whether the paper draws the same, on the same rows
    only_full: bool = False
    repeats: Mapping[Scale, int] = field(default_factory=lambda: REPEATS)

    def rows(self, scope: Scope) -> DataSet:
        """The published rows if their files are there, else generated ones."""
        return self.data(scope) or GENERATED

    def is_real(self, scope: Scope) -> bool:
        return self.rows(scope) is not GENERATED

    def games(self, scale: Scale) -> list[Game]:
        """All that is played, but the blind control."""
        if self.only_full and scale is not Scale.FULL:
            return []
        sides = (False, True) if self.controlled else (False,)
        return [Game(self.name, epsilon, control) for epsilon in self.epsilons[scale] for control in sides]

    def plan(self, scope: Scope) -> str:
        """One audit for each game, and one for the blind control, which needs no trained model."""
        games = self.games(scope.scale)
        attacks = [AVERAGE, OPTIMAL]
        if self.shadows and scope.scale is Scale.FULL and self.is_real(scope):
            attacks.append(SHADOW)
        audits = [
            write_audit(
                name=game.audit,
                rounds=self.repeats[scope.scale],
                data=self.rows(scope).table,
                mechanism=noise(game.epsilon),
                challenger=self._challenger(scope, game.control),
                attacks=attacks,
            )
            for game in games
        ]
        return "".join([*audits, self._blind_audit(scope)] if games else audits)

    def judged(self, scale: Scale, verdicts: Iterable[Verdict]) -> Games:
        """The verdicts of the games, by game and label."""
        named = {game.audit: game for game in self.games(scale)}
        found: dict[Game, dict[str, Verdict]] = {}
        for verdict in verdicts:
            if verdict.audit in named:
                found.setdefault(named[verdict.audit], {})[verdict.label] = verdict
        return found

    def blind_verdict(self, verdicts: Iterable[Verdict]) -> Verdict | None:
        """What is known without a model."""
        return next((verdict for verdict in verdicts if verdict.audit == f"{self.name}-{BLIND}"), None)

    def _challenger(self, scope: Scope, control: bool) -> list[str]:
        real = self.is_real(scope)
        members = self.members.get(scope.scale) if real else STAND_IN
        words = [f"epochs = {EPOCHS}, batch = {self.batch}"]
        words += [f"members = {members}"] if members is not None else []
        words += ["control = true"] if control else []
        words += [f"validation = {self.validation if real else STAND_IN // 4}"] if self.validation else []
        return [*words, f"dependence = {{ {self.dependence if real else self.stand_in} }}"]

    def _blind_audit(self, scope: Scope) -> str:
        """One epoch without noise: the model is not looked at."""
        real = self.is_real(scope)
        n, m = self.blind or (self.members.get(scope.scale), None)
        if not real:
            n, m = STAND_IN, None
        words = [f"epochs = 1, batch = {self.batch}, members = {n}"]
        words += [f"others = {m}, reference = 0.99"] if m is not None else []
        return write_audit(
            name=f"{self.name}-{BLIND}",
            rounds=self.repeats[scope.scale],
            data=self.rows(scope).table,
            mechanism=noise(None),
            challenger=[*words, f"dependence = {{ {self.dependence if real else self.stand_in} }}"],
            attacks=[BLIND],
        )
