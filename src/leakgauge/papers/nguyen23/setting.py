"""What all items of Nguyen et al. (2023) have in common: how many games, against what, by whom."""

from leakgauge.papers.nguyen23.columns import Column, Form
from leakgauge.papers.paper import Scale, Scope

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
    column: Column,
    form: Form,
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


def noise(name: str, epsilon: float, *, exact: bool = False) -> str:
    """The mechanism of a plan; ``exact`` makes its epsilon true."""
    return f'name = "{name}", epsilon = {float(epsilon)!r}' + (', calibrate = "exact"' if exact else "")


def likelihood(column: Column, form: Form, hinges: int | None = None) -> str:
    """The likelihood neuron in the form that these features need."""
    ratio = f'form = "ratio", hinges = {hinges or column.hinges}, ' if form is Form.NON_NEGATIVE else ""
    return f'name = "likelihood_neuron", {ratio}label = "{LIKELIHOOD}"'


def clipped() -> str:
    """The likelihood neuron with two hinges a feature, where it needs more."""
    return f'name = "likelihood_neuron", label = "{CLIPPED}"'


def trained() -> str:
    """The neuron of the paper."""
    return f'name = "trained_neuron", neurons = {NEURONS}, label = "{TRAINED}"'
