"""What all games of Humphries et al. (2023) have in common: training, repeats, and attacks."""

from leakgauge.papers.paper import Scale

CONFIDENCE = 0.95
DELTA = 1e-5
REPEATS = {Scale.QUICK: 3, Scale.FULL: 50}
EPOCHS = 100
ALL = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, None)  # nominal; the last one trains without noise
AVERAGE, OPTIMAL, SHADOW, BLIND = "average", "optimal", "shadow", "blind"  # labels
NAMES = {
    AVERAGE: "average threshold",
    OPTIMAL: "optimal threshold",
    SHADOW: "shadow models",
    BLIND: "blind control",
}
AUDIT = """
[[audit]]
name = "{name}"
domain = "models"
rounds = {rounds}
block = 1
data = {data}
mechanism = {{ {mechanism} }}
challenger = {{ game = "group", sampling = "shuffled", {challenger} }}
metrics = {{ confidence = {confidence}, in_sample = true }}
attacks = [
{attacks}
]
"""
ATTACKS = {
    AVERAGE: 'name = "loss_threshold", threshold = "average", knowledge = "training_loss"',
    OPTIMAL: 'name = "loss_threshold", threshold = "optimal", knowledge = "black_box"',
    SHADOW: 'name = "shadow", shadows = 5, private = false, knowledge = "black_box"',
    BLIND: 'name = "blind"',
}


def noise(epsilon: float | None) -> str:
    """The mechanism of a plan: noise as in the paper's code, where epsilon is a label; none without one."""
    if epsilon is None:
        return 'name = "none"'
    return (
        f'name = "dp_adam", epsilon = {epsilon!r}, delta = {DELTA!r}, relation = "replace_one", clip = 1.0, '
        'calibration = "humphries23"'
    )


def write_audit(
    *, name: str, rounds: int, data: str, mechanism: str, challenger: list[str], attacks: list[str]
) -> str:
    """Write one audit of a plan; each training is a block, so that a run can be continued after any."""
    return AUDIT.format(
        name=name,
        rounds=rounds,
        data=data,
        mechanism=mechanism,
        challenger=", ".join(challenger),
        confidence=CONFIDENCE,
        attacks="\n".join(f'  {{ {ATTACKS[label]}, label = "{label}" }},' for label in attacks),
    )


def write_epsilon(epsilon: float | None) -> str:
    """An epsilon in words.

    >>> write_epsilon(0.1), write_epsilon(None)
    ('ε = 0.1', 'no noise')
    """
    return "no noise" if epsilon is None else f"ε = {epsilon:g}"
