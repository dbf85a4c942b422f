"""Exposure of 100,000 people, computed directly, compared with simulating 1,000 rounds about each person.

The simulation is timed on a few people and scaled up: on average every person takes the same time.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Timing, growth, ratio, repeat, sized
from leakgauge.core.game import Adversary, play
from leakgauge.domains.locations import challenger, knowledge
from leakgauge.domains.locations.attacks.likelihood import Attack
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.exposure import ADVERSARIES, expose
from leakgauge.support.threads import single_threaded
from leakgauge.theory import loss_composition

PEOPLE, ROUNDS, SAMPLE = sized((100_000, 1_000, 10), (2_100, 2, 1))
PLAIN = {"name": "laplace", "epsilon": 1.0}
CUT = PLAIN | {"round": True, "clamp": True, "suppress": 1}


def run() -> str:
    with single_threaded():
        lines = [*_against_play("Laplace", PLAIN), *_against_play("rounded, clamped, suppressed", CUT)]
        return "\n".join([*lines, _growth()])


def _against_play(name: str, mechanism: dict[str, object]) -> Iterator[str]:
    city = _city(PEOPLE, mechanism)
    yield f"exposure of {PEOPLE:,} people, {name}; goal 1,000 x and under 10 s"
    for adversaries in (("informed",), ("informed", "auxiliary")):
        played = repeat(lambda those=adversaries: [_play(city, person, those) for person in _some(city)], 2)
        played = Timing(tuple(seconds * PEOPLE / SAMPLE for seconds in played.seconds))
        worked_out = repeat(lambda those=adversaries: _expose(city, those), 3)
        yield (
            f"- {' and '.join(adversaries)}: {worked_out}; {ROUNDS:,} rounds about each (timed on {SAMPLE} "
            f"people): {played}, {ratio(played, worked_out)}"
        )
    wall = repeat(lambda: _expose(city, ADVERSARIES), 3, time.perf_counter)
    yield f"- informed, auxiliary and zero, by the clock: {wall}"


def _expose(city: Challenger, adversaries: Sequence[str]) -> None:
    """As if for the first time: nothing that was worked out before is kept."""
    loss_composition._best_attack.cache_clear()  # noqa: SLF001
    expose(city, adversaries)


def _growth() -> str:
    sizes = sized([25_000, 50_000, 100_000, 200_000], [2_100, 2_200])
    times = [repeat(partial(expose, _city(n, CUT)), 1) for n in sizes]
    points = ", ".join(f"{size:,}: {timing.median:.3g} s" for size, timing in zip(sizes, times))
    return f"growth in people: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"


def _city(n_people: int, mechanism: dict[str, object]) -> Challenger:
    return challenger.build(
        data={"source": "synthetic", "users": n_people, "sites": 100, "epochs": 168},
        challenger={"group_size": 1_000},
        mechanism=mechanism,
        folder=Path(),
        seed=1,
    )


def _some(city: Challenger) -> list[int]:
    """People of the reference, whose absence from the pool changes nothing."""
    return np.random.default_rng(1).choice(city.people.reference, SAMPLE, replace=False).tolist()


def _play(city: Challenger, person: int, names: tuple[str, ...]) -> None:
    old = city.people
    people = PopulationSplit(np.array([person]), old.pool, np.setdiff1d(old.reference, person))
    own = replace(city, people=people)
    adversaries = {}
    for name in names:
        knows = knowledge.build(name, {}, own, 1)
        adversaries[name] = Adversary(
            knows, Attack(fit="never", shadows=0).study(knows, np.random.default_rng(person))
        )
    play(own, adversaries, seed=person, rounds=range(ROUNDS), block=0)
