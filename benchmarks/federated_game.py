"""A federated game with the likelihood neuron, compared with drawing and perturbing its rows alone.

BitRand with a nominal epsilon of 5, batches of 100 rows of 512 features, 4 targets. What the game adds to
that floor is the client's gradient, and the server's score of it.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measure import Timing, ratio, repeat, sized
from leakgauge.core.game import Adversary
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import challenger, knowledge
from leakgauge.domains.federated.attacks import likelihood_neuron
from leakgauge.domains.federated.release import ClientGroups
from leakgauge.support.threads import single_threaded

GOAL, TARGETS, ROUNDS, REPEATS, SEED = 1.5, 4, sized(50, 2), 7, 1


def run() -> str:
    with single_threaded():
        return _compare()


def _compare() -> str:
    made = challenger.build(
        data={"source": "synthetic", "rows": 12_000},
        challenger={"targets": TARGETS, "batch": 100},
        mechanism={"name": "bitrand", "epsilon": 5.0},
        folder=Path(),
        seed=SEED,
    )
    server = knowledge.build("server", {}, made, SEED)
    members = made.flip(ROUNDS, stream(SEED, Role.BITS, 0))
    clients = made.release(members, stream(SEED, Role.RELEASE, 0))
    assert isinstance(clients, ClientGroups)
    studied = likelihood_neuron.Attack().study(server, stream(SEED, Role.STUDY))
    adversary = Adversary(server, studied)
    scores = adversary.score(clients, stream(SEED, Role.SCORE, 0))
    won = np.mean((scores >= adversary.scorer.reading.threshold) == members)
    floor = _per_game(lambda: _draw_and_perturb(clients))
    game = _per_game(lambda: adversary.score(clients, stream(SEED, Role.SCORE, 0)))
    return (
        f"{TARGETS} targets, {ROUNDS * TARGETS} games of batch 100; goal <= {GOAL} x the floor\n"
        f"- {game} a game, drawing and noise {floor}: {ratio(game, floor)}; won {won:.3f}"
    )


def _per_game(work: Callable[[], object]) -> Timing:
    whole = repeat(work, REPEATS)
    return Timing(tuple(seconds / (ROUNDS * TARGETS) for seconds in whole.seconds))


def _draw_and_perturb(clients: ClientGroups) -> None:
    mechanism = clients.training.mechanism
    assert mechanism is not None
    for row, target in np.ndindex(clients.members.shape):
        for held in clients.held(row, target, 0):
            rng = np.random.default_rng(held.seed)
            mechanism.sample(held.rows.astype(np.float64), rng).astype(np.float32)
