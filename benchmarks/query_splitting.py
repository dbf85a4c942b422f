"""Rounds of query splitting: all queries of a block at once, compared with one oracle call at a time.

The loop is timed on fewer rounds and scaled up: every round takes the same time. A second loop has no oracle
at all, only a call that adds noise to a number.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Timing, growth, ratio, repeat, sized
from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Adversary
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries import challenger, knowledge
from leakgauge.domains.queries.attacks import combined, split_likelihood, split_midpoint, split_t_test

ROUNDS, SAMPLE, QUERIES, GOAL = *sized((100_000, 500), (200, 5)), 10, 100
BLOCK = 5_000
ATTACKS = {
    "split_t_test": split_t_test.Attack(queries=QUERIES),
    "split_midpoint": split_midpoint.Attack(queries=QUERIES),
    "split_likelihood": split_likelihood.Attack(queries=QUERIES),
    "combined": combined.Attack(queries=QUERIES + 1, test="likelihood"),
}
ACCOUNTS = {"split_t_test": "sequential", "split_midpoint": "per_predicate", "combined": "per_row"}


def run() -> str:
    lines = [line for name in ATTACKS for line in _against_a_loop(name)]
    return "\n".join([*lines, *_growth()])


def _against_a_loop(name: str) -> Iterator[str]:
    accountant = ACCOUNTS.get(name, "none")
    game = _game(name, accountant)
    together = repeat(partial(_together, *game, ROUNDS))
    loop = _scaled(repeat(partial(_one_at_a_time, *game, SAMPLE), 3), ROUNDS / SAMPLE)
    lean = _scaled(repeat(partial(_lean, SAMPLE), 3), ROUNDS / SAMPLE)
    yield (
        f"{name}, {ROUNDS:,} rounds, accountant {accountant}; one oracle call at a time (timed on {SAMPLE} "
        f"rounds): {loop}; goal {GOAL} x; calls that add noise and do nothing else: {lean}"
    )
    yield (
        f"- together: {together}, {ratio(loop, together)}; {ratio(lean, together)} against the noise alone"
    )


def _game(name: str, accountant: str) -> tuple[challenger.Challenger, Adversary]:
    setting = {"accountant": accountant, "budget": 3.0} if accountant != "none" else {"accountant": "none"}
    owner = challenger.build(
        data={},
        challenger=setting,
        mechanism={"name": "laplace", "epsilon": 0.3},
        folder=Path(),
        seed=1,
    )
    known = knowledge.build("known", {}, owner, seed=1)
    return owner, Adversary(known, ATTACKS[name].study(known, stream(1, Role.STUDY)))


def _together(owner: challenger.Challenger, adversary: Adversary, n_rounds: int) -> tuple[Bits, Reals]:
    members = owner.flip(n_rounds, stream(1, Role.BITS))
    return members, adversary.score(owner.release(members, stream(1, Role.RELEASE)), stream(1, Role.SCORE))


def _in_blocks(owner: challenger.Challenger, adversary: Adversary, n_rounds: int) -> None:
    for _ in range(0, n_rounds, BLOCK):
        _together(owner, adversary, BLOCK)


def _one_at_a_time(owner: challenger.Challenger, adversary: Adversary, n_rounds: int) -> list[Reals]:
    """Every round has its own oracle, and every answer is one number."""
    members = owner.flip(n_rounds, stream(1, Role.BITS))
    noise, score = stream(1, Role.RELEASE), stream(1, Role.SCORE)
    return [adversary.score(owner.release(members[i : i + 1], noise), score) for i in range(n_rounds)]


def _lean(n_rounds: int) -> list[bool]:
    """The midpoint of answers, one call each, with nothing that an oracle does besides."""
    rng = np.random.default_rng(1)

    def ask(member: bool) -> float:
        return member + rng.laplace(scale=1 / 0.3)

    return [sum(ask(i % 2 == 1) for _ in range(QUERIES)) / QUERIES >= 0.5 for i in range(n_rounds)]


def _growth() -> Iterator[str]:
    game = _game("split_likelihood", "none")
    rounds = sized([25_000, 100_000, 400_000, 1_600_000], [100, 200])
    yield _curve("rounds, in blocks", rounds, [repeat(partial(_in_blocks, *game, n), 3) for n in rounds])
    queries = [10, 40, 160, 640]
    owner = game[0]
    known = knowledge.build("known", {}, owner, seed=1)
    times = []
    for n in queries:
        attack = split_likelihood.Attack(queries=n)
        adversary = Adversary(known, attack.study(known, stream(1, Role.STUDY)))
        times.append(repeat(partial(_together, owner, adversary, 2_000), 3))
    yield _curve("queries", queries, times)


def _curve(name: str, sizes: list[int], times: list[Timing]) -> str:
    points = ", ".join(f"{size:,}: {timing.median:.3g} s" for size, timing in zip(sizes, times))
    return f"growth in {name}: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"


def _scaled(timing: Timing, factor: float) -> Timing:
    return Timing(tuple(seconds * factor for seconds in timing.seconds))
