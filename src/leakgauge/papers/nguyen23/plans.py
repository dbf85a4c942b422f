"""The plans of Nguyen et al. (2023): games, noise and attacks; verdicts by game."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from leakgauge.papers.comparison import PublishedNumber
from leakgauge.papers.nguyen23 import statements
from leakgauge.papers.nguyen23.data import COLUMNS, DataColumn, FeatureForm
from leakgauge.papers.paper import PaperRun, Scale, Scope
from leakgauge.verdict import Verdict

SEED = 20240501  # of items without games
CONFIDENCE = 0.95
EPSILONS = {Scale.QUICK: (1, 3, 5, 10), Scale.FULL: tuple(range(1, 11))}  # nominal
FEW_EPSILONS = {Scale.QUICK: (1, 10), Scale.FULL: tuple(range(1, 11))}  # where they hardly matter
TARGETS = {Scale.QUICK: 4, Scale.FULL: 25}
ROUNDS = {Scale.QUICK: 60, Scale.FULL: 400}  # each with a game for every target: 240 or 10,000
BLOCK = 20
NEURONS = 1_000  # r, of a trained first layer
LIKELIHOOD, CLIPPED, TRAINED = "likelihood", "clipped", "trained"  # labels
AUDIT = """
[[audit]]
name = "{name}"
domain = "federated"
rounds = {rounds}
block = {block}
data = {data}
mechanism = {{ {mechanism} }}
challenger = {{ {challenger} }}
metrics = {{ confidence = {confidence} }}
attacks = [
{attacks}
]
"""


def write_audit(
    name: str,
    scope: Scope,
    column: DataColumn,
    form: FeatureForm,
    mechanism: str,
    attacks: list[str],
    *,
    challenger: str = "",
    targets: int | None = None,
    rounds: int | None = None,
    batch: int | None = None,
) -> str:
    """Write a game on the rows of a column."""
    said = f"targets = {targets or TARGETS[scope.scale]}, batch = {batch or column.batch}"
    return AUDIT.format(
        name=name,
        rounds=rounds or ROUNDS[scope.scale],
        block=BLOCK,
        data=column.data(scope, form).table,
        mechanism=mechanism,
        challenger=", ".join(filter(None, [said, challenger])),
        confidence=CONFIDENCE,
        attacks="\n".join(f"  {{ {attack} }}," for attack in attacks),
    )


def noise_table(name: str, epsilon: float, *, exact: bool = False) -> str:
    """The mechanism of a plan; ``exact`` makes its epsilon true."""
    return f'name = "{name}", epsilon = {float(epsilon)!r}' + (', calibrate = "exact"' if exact else "")


def likelihood_attack(column: DataColumn, form: FeatureForm, hinges: int | None = None) -> str:
    """The likelihood neuron in the form that these features need."""
    ratio = (
        f'form = "ratio", hinges = {hinges or column.hinges}, ' if form is FeatureForm.NON_NEGATIVE else ""
    )
    return f'name = "likelihood_neuron", {ratio}label = "{LIKELIHOOD}"'


def clipped_attack() -> str:
    """The likelihood neuron with two hinges a feature, where it needs more."""
    return f'name = "likelihood_neuron", label = "{CLIPPED}"'


def trained_attack() -> str:
    """The neuron of the paper."""
    return f'name = "trained_neuron", neurons = {NEURONS}, label = "{TRAINED}"'


AT_FIVE = 5  # where the trained neuron plays at --scale quick


@dataclass(frozen=True)
class NominalGame:
    """One game: a column in one form, at one nominal epsilon."""

    column: DataColumn
    form: FeatureForm
    epsilon: int

    def name(self, mechanism: str) -> str:
        """Of its audit."""
        return f"{mechanism}-{self.column.name}-{self.form}-{self.epsilon}"


VerdictsByGame: TypeAlias = Mapping[NominalGame, Mapping[str, Verdict]]  # verdicts by label


@dataclass(frozen=True, kw_only=True)
class MechanismGames:
    """All games against one mechanism, and what the paper states of them."""

    mechanism: str
    epsilons: Mapping[Scale, tuple[int, ...]]
    stated: Callable[[DataColumn, float], PublishedNumber | None]
    hinges: int | None = None  # of each feature, if not as many as the column has

    @property
    def run(self) -> PaperRun:
        return PaperRun(name=self.mechanism, plan=self.plan)

    def points(self, scale: Scale) -> list[NominalGame]:
        """Columns by forms by epsilons."""
        return [
            NominalGame(column, form, epsilon)
            for column in COLUMNS
            for form in FeatureForm
            for epsilon in self.epsilons[scale]
        ]

    def plan(self, scope: Scope) -> str:
        """One audit for each point."""
        return "".join(map(partial(self._audit, scope), self.points(scope.scale)))

    def games(self, scale: Scale, verdicts: Iterable[Verdict]) -> VerdictsByGame:
        """The verdicts by point and label."""
        named = {point.name(self.mechanism): point for point in self.points(scale)}
        found: dict[NominalGame, dict[str, Verdict]] = {}
        for verdict in verdicts:
            if verdict.audit in named:
                found.setdefault(named[verdict.audit], {})[verdict.label] = verdict
        return found

    def _audit(self, scope: Scope, point: NominalGame) -> str:
        column, form, epsilon = point.column, point.form, point.epsilon
        attacks = [likelihood_attack(column, form, self.hinges)]
        if form is FeatureForm.NON_NEGATIVE:
            attacks.append(clipped_attack())
        if scope.scale is Scale.FULL or (form is FeatureForm.NON_NEGATIVE and epsilon == AT_FIVE):
            attacks.append(trained_attack())
        return write_audit(
            point.name(self.mechanism), scope, column, form, noise_table(self.mechanism, epsilon), attacks
        )


BITRAND = MechanismGames(mechanism="bitrand", epsilons=EPSILONS, stated=statements.success_claim_bitrand)
OME = MechanismGames(mechanism="ome", epsilons=FEW_EPSILONS, stated=statements.success_claim_ome, hinges=16)


def exact_epsilon_of(verdicts: Mapping[str, Verdict]) -> float | None:
    """Of a row, by the law of the noise."""
    promised = verdicts[LIKELIHOOD].promised
    return None if promised is None else promised["exact_epsilon"]
