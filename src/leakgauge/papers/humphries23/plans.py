"""The plans of Humphries et al. (2023): training, attacks, and the experiments of section IV."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from leakgauge.papers import data_sets, paper
from leakgauge.verdict import Verdict

CONFIDENCE = 0.95
DELTA = 1e-5
REPEATS = {paper.Scale.QUICK: 3, paper.Scale.FULL: 50}
EPOCHS = 100
ALL_EPSILONS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, None)  # nominal; the last one trains without noise
AVERAGE, OPTIMAL, SHADOW, BLIND = "average", "optimal", "shadow", "blind"  # labels
ATTACK_NAMES = {
    AVERAGE: "average threshold",
    OPTIMAL: "optimal threshold",
    SHADOW: "shadow models",
    BLIND: "blind control",
}
ATTACKS: dict[str, dict[str, Any]] = {
    AVERAGE: {"name": "loss_threshold", "threshold": "average", "knowledge": "training_loss"},
    OPTIMAL: {"name": "loss_threshold", "threshold": "optimal", "knowledge": "black_box"},
    SHADOW: {"name": "shadow", "shadows": 5, "private": False, "knowledge": "black_box"},
    BLIND: {"name": "blind"},
}
STAND_IN = 500  # members of a game on generated rows
GENERATED = data_sets.DataSet(
    name="generated",
    description="generated rows",
    table={"source": "synthetic", "rows": 4000, "components": 4},
)
Epsilons: TypeAlias = tuple[float | None, ...]
VerdictsByLabel: TypeAlias = Mapping[str, Verdict]


def noise_table(epsilon: float | None) -> dict[str, Any]:
    """Return the mechanism of a plan: noise as in the paper's code, where epsilon is a label; or none."""
    if epsilon is None:
        return {"name": "none"}
    return {
        "name": "dp_adam",
        "epsilon": epsilon,
        "delta": DELTA,
        "relation": "replace_one",
        "clip": 1.0,
        "calibration": "humphries23",
    }


def source_group(group: str, members: str) -> dict[str, Any]:
    """Return the dependence of a plan in which members come from one source, such as a hospital."""
    return {"name": "source", "group": group, "members": members}


def audit_table(
    *,
    name: str,
    rounds: int,
    data: data_sets.DataSet,
    mechanism: dict[str, Any],
    challenger: dict[str, Any],
    attacks: list[str],
) -> paper.AuditTable:
    """Return one audit; each training is a separate block, after which a run can be continued."""
    return {
        "name": name,
        "domain": "models",
        "rounds": rounds,
        "block": 1,
        "data": dict(data.table),
        "mechanism": mechanism,
        "challenger": {"game": "group", "sampling": "shuffled", **challenger},
        "metrics": {"confidence": CONFIDENCE, "in_sample": True},
        "attacks": [{**ATTACKS[label], "label": label} for label in attacks],
    }


def epsilon_text(epsilon: float | None) -> str:
    """An epsilon in words.

    >>> epsilon_text(0.1), epsilon_text(None)
    ('ε = 0.1', 'no noise')
    """
    return "no noise" if epsilon is None else f"ε = {epsilon:g}"


@dataclass(frozen=True)
class DependenceGame:
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
    def description(self) -> str:
        return f"{epsilon_text(self.epsilon)}, {'IID' if self.control else 'non-IID'}"


ExperimentVerdicts: TypeAlias = Mapping[DependenceGame, VerdictsByLabel]


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """Which rows, who is a member, and how much is simulated at each scale.

    ``dependence`` is what members have in common, as the table of a plan, ``stand_in`` the same on generated
    rows. Without ``members`` all rows of the group are members. Then no other such rows are left: the blind
    control has fewer members and others, ``blind``, and learns from the rest.
    """

    name: str
    description: str
    data: Callable[[paper.Scope], data_sets.DataSet | None]
    dependence: Mapping[str, Any]
    stand_in: Mapping[str, Any] = field(default_factory=lambda: source_group("component", "0"))
    members: Mapping[paper.Scale, int] = field(default_factory=dict)
    blind: tuple[int, int] | None = None
    batch: int = 200
    validation: int = 0
    epsilons: Mapping[paper.Scale, Epsilons] = field(
        default_factory=lambda: {paper.Scale.QUICK: (1.0,), paper.Scale.FULL: ALL_EPSILONS}
    )
    controlled: bool = True
    shadows: bool = False  # whether enough rows are left for them
    drawn: bool = True  # whether the paper draws the same, on the same rows
    only_full: bool = False
    repeats: Mapping[paper.Scale, int] = field(default_factory=lambda: REPEATS)

    def rows(self, scope: paper.Scope) -> data_sets.DataSet:
        """The published rows if their files are there, otherwise generated ones."""
        return self.data(scope) or GENERATED

    def is_real(self, scope: paper.Scope) -> bool:
        return self.rows(scope) is not GENERATED

    def games(self, scale: paper.Scale) -> list[DependenceGame]:
        """All games except the blind control."""
        if self.only_full and scale is not paper.Scale.FULL:
            return []
        sides = (False, True) if self.controlled else (False,)
        return [
            DependenceGame(self.name, epsilon, control)
            for epsilon in self.epsilons[scale]
            for control in sides
        ]

    def audits(self, scope: paper.Scope) -> list[paper.AuditTable]:
        """One audit for each game, and one for the blind control, which needs no trained model."""
        games = self.games(scope.scale)
        attacks = [AVERAGE, OPTIMAL]
        if self.shadows and scope.scale is paper.Scale.FULL and self.is_real(scope):
            attacks.append(SHADOW)
        audits = [
            audit_table(
                name=game.audit,
                rounds=self.repeats[scope.scale],
                data=self.rows(scope),
                mechanism=noise_table(game.epsilon),
                challenger=self._challenger(scope, game.control),
                attacks=attacks,
            )
            for game in games
        ]
        return [*audits, self._blind_audit(scope)] if games else audits

    def judged(self, scale: paper.Scale, verdicts: Iterable[Verdict]) -> ExperimentVerdicts:
        """The verdicts of the games, by game and label."""
        named = {game.audit: game for game in self.games(scale)}
        by_game: dict[DependenceGame, dict[str, Verdict]] = {}
        for verdict in verdicts:
            if verdict.audit in named:
                by_game.setdefault(named[verdict.audit], {})[verdict.label] = verdict
        return by_game

    def blind_verdict(self, verdicts: Iterable[Verdict]) -> Verdict | None:
        """The verdict of the blind control, which sees no model."""
        return next((verdict for verdict in verdicts if verdict.audit == f"{self.name}-{BLIND}"), None)

    def _challenger(self, scope: paper.Scope, control: bool) -> dict[str, Any]:
        real = self.is_real(scope)
        members = self.members.get(scope.scale) if real else STAND_IN
        table: dict[str, Any] = {"epochs": EPOCHS, "batch": self.batch}
        if members is not None:
            table["members"] = members
        if control:
            table["control"] = True
        if self.validation:
            table["validation"] = self.validation if real else STAND_IN // 4
        return {**table, "dependence": self._dependence(scope)}

    def _blind_audit(self, scope: paper.Scope) -> paper.AuditTable:
        """The audit of the blind control: one epoch without noise, since the model is not used."""
        n, m = self.blind or (self.members.get(scope.scale), None)
        if not self.is_real(scope):
            n, m = STAND_IN, None
        table: dict[str, Any] = {"epochs": 1, "batch": self.batch, "members": n}
        if m is not None:
            table |= {"others": m, "reference": 0.99}
        return audit_table(
            name=f"{self.name}-{BLIND}",
            rounds=self.repeats[scope.scale],
            data=self.rows(scope),
            mechanism=noise_table(None),
            challenger={**table, "dependence": self._dependence(scope)},
            attacks=[BLIND],
        )

    def _dependence(self, scope: paper.Scope) -> dict[str, Any]:
        return dict(self.dependence if self.is_real(scope) else self.stand_in)
