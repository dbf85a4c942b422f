"""A neuron built from the noise distribution, compared with a trained one of equal size, on the same rounds.

BitRand with a nominal epsilon of 5, batches of 100. CPU time is per target and includes its share of what is
computed once for 20 targets; 4 of them are attacked. The rows are CIFAR-10 embeddings if the folder
LEAKGAUGE_DATA has them, and generated ones otherwise: unchanged, and with negative values set to zero, so
that the sign bit carries no information.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Timing, ratio, repeat, sized
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import challenger, knowledge
from leakgauge.domains.federated.attacks import likelihood_neuron, trained_neuron
from leakgauge.support.threads import single_threaded

CIFAR, GOAL, LABEL = "cifar10/cifar10_embeddings_512.npz", 100, 5.0
TARGETS, MANY, ROUNDS, REPEATS, SEED = *sized((4, 20, 150), (1, 2, 4)), 3, 1
TRAINED = trained_neuron.Attack(neurons=sized(1_000, 4))
BUILT = {
    "likelihood_neuron, clipped": likelihood_neuron.Attack(units=1_024),
    "likelihood_neuron, ratio of 16 hinges": likelihood_neuron.Attack(units=1_024, form="ratio"),
    "likelihood_neuron, ratio of 16 hinges for each feature": likelihood_neuron.Attack(form="ratio"),
}


def run() -> str:
    import torch

    torch.optim.Adam([torch.zeros(1, requires_grad=True)]).step()  # loads what it needs
    with single_threaded():
        return "\n".join(line for non_negative in (False, True) for line in _compare(non_negative))


def _compare(non_negative: bool) -> Iterator[str]:
    data, folder = _data()
    made, server = _game(data | {"non_negative": non_negative}, folder, TARGETS)
    _, many = _game(data | {"non_negative": non_negative}, folder, MANY)
    slow, adversaries = {}, {}
    for name, attack in {"trained_neuron": TRAINED, **BUILT}.items():
        start = time.process_time()
        adversaries[name] = Adversary(server, attack.study(server, stream(SEED, Role.STUDY)))
        seconds = (time.process_time() - start) / TARGETS
        slow[name] = Timing((seconds,)) if attack is TRAINED else _per_target(attack, many)
    yield (
        f"{data['source']}{', not negative' if non_negative else ''}, {made.n_targets} targets, "
        f"{ROUNDS * made.n_targets} games; goal {GOAL} x and not fewer games won"
    )
    for name, trials in play(made, adversaries, SEED, range(ROUNDS), 0).items():
        won = np.mean((trials.scores >= trials.reading.threshold) == trials.members)
        faster = ratio(slow["trained_neuron"], slow[name])
        units = len(adversaries[name].scorer.score.networks[0].first[0])
        yield f"- {name}, {units:,} units: {slow[name]} per target, {faster}; won {won:.3f}"


def _per_target(attack: likelihood_neuron.Attack, server: knowledge.ServerKnowledge) -> Timing:
    whole = repeat(lambda: attack.study(server, stream(SEED, Role.STUDY)), REPEATS)
    return Timing(tuple(seconds / MANY for seconds in whole.seconds))


def _game(
    data: dict[str, Any], folder: Path, targets: int
) -> tuple[challenger.Challenger, knowledge.ServerKnowledge]:
    made = challenger.build(
        data=data,
        challenger={"targets": targets, "batch": 100},
        mechanism={"name": "bitrand", "epsilon": LABEL},
        folder=folder,
        seed=SEED,
    )
    return made, knowledge.build("server", {}, made, SEED)


def _data() -> tuple[dict[str, Any], Path]:
    folder = os.environ.get("LEAKGAUGE_DATA")
    if folder and (Path(folder) / CIFAR).is_file():
        return {"source": CIFAR}, Path(folder)
    return {"source": "synthetic", "rows": 12_000}, Path()
