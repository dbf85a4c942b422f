"""The audit of a DP training that is given as a Python function, without a run folder."""

from collections.abc import Callable
from typing import Any, Literal

from leakgauge.catalog import domain_with_training_audit
from leakgauge.core.errors import BadInput, naming_arguments
from leakgauge.plan import MOST_ROUNDS, MetricsTable
from leakgauge.runner.in_memory import check_seed, play_function_audit
from leakgauge.support.table_reader import convert_value
from leakgauge.verdict import Verdict

TRAININGS, TRAININGS_PER_BLOCK = 400, 20  # where each training has one coin
ARGUMENTS = (  # what the keys of a plan are called here
    ("challenger.claim.", ""),
    ("challenger.claim: ", ""),
    ("challenger.dp_training", "train"),
    ("challenger.", ""),
)


def audit_training(
    train: Callable[..., Any],
    *,
    epsilon: float,
    sample_rate: float,
    steps: int,
    delta: float = 1e-5,
    sampling: Literal["poisson", "shuffled"] = "poisson",
    relation: Literal["add_remove", "replace_one"] | None = None,
    noise_multiplier: float | None = None,
    coin: Literal["step", "training"] = "step",
    canaries: int | None = None,
    initial_weights: Literal["own", "crafted"] = "own",
    pretrained: Literal["public"] | None = None,
    rounds: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Verdict:
    """Test whether a DP training adds the noise that its epsilon needs.

    Every noisy step is watched: those of Opacus as they are, those of a loop written by hand through the
    parameter `watch` of `train`. The noise itself is tested, a canary is put into each batch or not and has
    to be recognised, and the transcript is compared with the claim: batch sizes, clipping, and what the
    accountant recorded. `evidence` of the result says what was found, in words.

    An honest training is found `violated` in at most a share `1 - confidence` of all audits.

    Args:
        train: A function that trains once. It is called with those of the parameters `watch`, `seed`, `rng`
            and `canaries` that it has.
        epsilon: The claimed epsilon of the whole training.
        sample_rate: The share of the rows that a batch has, as the accountant was told.
        steps: How many noisy steps a training takes, as the accountant was told.
        delta: The claimed delta.
        sampling: How batches are drawn, as the accountant was told.
        relation: Which data sets are neighbours; "add_remove" for Poisson batches, "replace_one" for shuffled
            ones unless given.
        noise_multiplier: The stated noise multiplier; without it the smallest one that epsilon needs.
        coin: "step": a fresh coin for each step decides about the canary; "training": one for all its steps.
        canaries: The number of black-box canaries, instead of canaries in steps: `train` gets `canaries`,
            which of them are in the data, and returns the loss of each.
        initial_weights: "crafted": all trainings start where one without noise and canaries ended, where
            other records move the model least; for one black-box canary in each of many trainings. A loop
            written by hand calls `watch.start_from`.
        pretrained: "public": what is trained before the first noisy step sees public data only.
        rounds: How many steps are counted (as many as a training has, unless given), or trainings (400), or
            trainings with black-box canaries (1).
        confidence: The confidence level of the finding and of all intervals.
        seed: The seed of all random numbers.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    claim = {
        "epsilon": epsilon,
        "sample_rate": sample_rate,
        "steps": steps,
        "delta": delta,
        "sampling": sampling,
        "relation": relation,
        "noise_multiplier": noise_multiplier,
    }
    name = getattr(train, "__name__", type(train).__name__)
    table = {"dp_training": name, "claim": claim, "coin": coin, "canaries": canaries}
    table |= {"initial_weights": initial_weights, "pretrained": pretrained}
    table = {key: value for key, value in table.items() if value is not None}
    table["claim"] = {key: value for key, value in claim.items() if value is not None}
    domain, set_up = domain_with_training_audit()
    with naming_arguments(*ARGUMENTS):
        audit = set_up(train, table)
    usual = 1 if canaries is not None else TRAININGS if coin == "training" else int(steps)
    whole = usual if rounds is None else convert_value(int, rounds, "rounds")
    if not 1 <= whole <= MOST_ROUNDS:
        raise BadInput(f"rounds must be in 1..{MOST_ROUNDS}, got {rounds}; {usual} is usual")
    with naming_arguments(*ARGUMENTS):
        return play_function_audit(
            domain,
            audit,
            name=name,
            challenger=table,
            mechanism={},
            promise=audit.challenger.guarantee,
            rounds=whole,
            seed=check_seed(seed),
            workers=1,
            metrics=MetricsTable(confidence=convert_value(float, confidence, "confidence")),
            block=int(steps) if coin == "step" and canaries is None else TRAININGS_PER_BLOCK,
        )
