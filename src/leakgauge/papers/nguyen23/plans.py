"""The plans of Nguyen et al. (2023): games, noise and attacks; verdicts by game."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from leakgauge.papers import comparison, paper
from leakgauge.papers.nguyen23 import data
from leakgauge.report.number_format import count
from leakgauge.verdict import Verdict

SEED = 20240501  # of items without games
CONFIDENCE = 0.95
EPSILONS = {paper.Scale.QUICK: (1, 3, 5, 10), paper.Scale.FULL: tuple(range(1, 11))}  # nominal
# where their number hardly matters
FEW_EPSILONS = {paper.Scale.QUICK: (1, 10), paper.Scale.FULL: tuple(range(1, 11))}
TARGETS = {paper.Scale.QUICK: 4, paper.Scale.FULL: 25}
ROUNDS = {paper.Scale.QUICK: 60, paper.Scale.FULL: 400}  # each with a game for every target: 240 or 10,000
BLOCK = 20
NEURONS = 1_000  # r, of a trained first layer
LIKELIHOOD, CLIPPED, TRAINED = "likelihood", "clipped", "trained"  # labels


def audit_table(
    name: str,
    scope: paper.Scope,
    column: data.DataColumn,
    form: data.FeatureForm,
    mechanism: dict[str, Any],
    attacks: list[dict[str, Any]],
    *,
    challenger: Mapping[str, Any] | None = None,
    targets: int | None = None,
    rounds: int | None = None,
    batch: int | None = None,
) -> paper.AuditTable:
    """Return an audit on the rows of a column; ``challenger`` holds further keys of that table."""
    return {
        "name": name,
        "domain": "federated",
        "rounds": rounds or ROUNDS[scope.scale],
        "block": BLOCK,
        "data": dict(column.data(scope, form).table),
        "mechanism": mechanism,
        "challenger": {
            "targets": targets or TARGETS[scope.scale],
            "batch": batch or column.batch,
            **(challenger or {}),
        },
        "metrics": {"confidence": CONFIDENCE},
        "attacks": attacks,
    }


def noise_table(name: str, epsilon: float, *, exact: bool = False) -> dict[str, Any]:
    """Return the mechanism of a plan; with ``exact`` its epsilon is the true one."""
    return {"name": name, "epsilon": float(epsilon), **({"calibrate": "exact"} if exact else {})}


def likelihood_attack(
    column: data.DataColumn, form: data.FeatureForm, hinges: int | None = None
) -> dict[str, Any]:
    """Return the likelihood neuron in the form that these features need."""
    ratio = (
        {"form": "ratio", "hinges": hinges or column.hinges} if form is data.FeatureForm.NON_NEGATIVE else {}
    )
    return {"name": "likelihood_neuron", **ratio, "label": LIKELIHOOD}


def clipped_attack() -> dict[str, Any]:
    """Return the likelihood neuron with two hinges a feature, where it needs more."""
    return {"name": "likelihood_neuron", "label": CLIPPED}


def trained_attack() -> dict[str, Any]:
    """Return the neuron of the paper."""
    return {"name": "trained_neuron", "neurons": NEURONS, "label": TRAINED}


@dataclass(frozen=True)
class NominalGame:
    """One game: a column in one form, at one nominal epsilon."""

    column: data.DataColumn
    form: data.FeatureForm
    epsilon: int

    def name(self, mechanism: str) -> str:
        """Of its audit."""
        return f"{mechanism}-{self.column.name}-{self.form}-{self.epsilon}"

    def description(self, scope: paper.Scope, exact: float | None = None) -> str:
        """The data and epsilon in words; with the exact epsilon, where it is given."""
        true = "" if exact is None else f" (exact: {count(round(exact))})"
        return f"{self.column.description(scope, self.form)}, ε = {self.epsilon}{true}"


VerdictsByGame: TypeAlias = Mapping[NominalGame, Mapping[str, Verdict]]  # verdicts by label


@dataclass(frozen=True, kw_only=True)
class MechanismGames:
    """All games against one mechanism, and what the paper states about them."""

    mechanism: str
    epsilons: Mapping[paper.Scale, tuple[int, ...]]
    stated: Callable[[data.DataColumn, float], comparison.PublishedNumber | None]
    hinges: int | None = None  # of each feature, if not as many as the column has

    @property
    def run(self) -> paper.PaperRun:
        return paper.PaperRun(name=self.mechanism, audits=self.audits)

    def points(self, scale: paper.Scale) -> list[NominalGame]:
        """Columns by forms by epsilons."""
        return [
            NominalGame(column, form, epsilon)
            for column in data.COLUMNS
            for form in data.FeatureForm
            for epsilon in self.epsilons[scale]
        ]

    def audits(self, scope: paper.Scope) -> list[paper.AuditTable]:
        """One audit for each point."""
        return [self._audit(scope, point) for point in self.points(scope.scale)]

    def games(self, scale: paper.Scale, verdicts: Iterable[Verdict]) -> VerdictsByGame:
        """The verdicts by point and label."""
        named = {point.name(self.mechanism): point for point in self.points(scale)}
        by_game: dict[NominalGame, dict[str, Verdict]] = {}
        for verdict in verdicts:
            if verdict.audit in named:
                by_game.setdefault(named[verdict.audit], {})[verdict.label] = verdict
        return by_game

    def _audit(self, scope: paper.Scope, point: NominalGame) -> paper.AuditTable:
        column, form, epsilon = point.column, point.form, point.epsilon
        attacks = [likelihood_attack(column, form, self.hinges)]
        if form is data.FeatureForm.NON_NEGATIVE:
            attacks.append(clipped_attack())
        if scope.scale is paper.Scale.FULL or form is data.FeatureForm.NON_NEGATIVE:
            attacks.append(trained_attack())
        return audit_table(
            point.name(self.mechanism), scope, column, form, noise_table(self.mechanism, epsilon), attacks
        )


BITRAND = MechanismGames(mechanism="bitrand", epsilons=EPSILONS, stated=data.success_claim_bitrand)
OME = MechanismGames(mechanism="ome", epsilons=FEW_EPSILONS, stated=data.success_claim_ome, hinges=16)


def exact_epsilon_of(verdicts: Mapping[str, Verdict]) -> float | None:
    """Of a row, by the noise distribution."""
    promised = verdicts[LIKELIHOOD].promised
    return None if promised is None else promised["exact_epsilon"]
