"""An audit of counts per place and hour as people, rounds and targets grow."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import Timing, growth, repeat, sized
from leakgauge import catalog
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger import Challenger, build
from leakgauge.domains.locations.knowledge import build as know
from leakgauge.support.threads import single_threaded

ATTACKS = "leakgauge.domains.locations.attacks"
NOISE = {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1}
PEOPLE = sized([25_000, 50_000, 100_000, 200_000], [500, 1_000])
PLAYERS = (
    ("likelihood", "informed"),
    ("likelihood", "auxiliary"),
    ("likelihood", "zero"),
    ("one_threshold", "auxiliary"),
)


def run() -> str:
    with single_threaded():  # as in a run
        return "\n".join(
            [
                "100 x 168, 40 % of the people in a group, studying included; goal: slope <= 1.1",
                _curve(
                    "people",
                    sized([25_000, 50_000, 100_000, 200_000], [500, 1_000]),
                    lambda n: audit(people=n),
                ),
                _curve("rounds", sized([100, 200, 400, 800], [10, 20]), lambda n: audit(rounds=n)),
                _curve("targets", sized([10, 20, 40, 80], [2, 4]), lambda n: audit(targets=n)),
            ]
        )


def _curve(name: str, sizes: list[int], make: Callable[[int], Callable[[], object]]) -> str:
    times: list[Timing] = [repeat(make(size), 1) for size in sizes]
    points = ", ".join(f"{size:,}: {timing.median:.3g} s" for size, timing in zip(sizes, times))
    return f"- growth in {name}: slope {growth(sizes, times):.2f}; {points}"


def audit(
    people: int = sized(50_000, 1_000), rounds: int = sized(200, 20), targets: int = sized(20, 3)
) -> Callable[[], object]:
    """The work of an audit once its data are there."""
    data = {"source": "synthetic", "users": people, "visits": 20.0}
    setting = {
        "group_size": int(0.4 * people),
        "reference": 0.5,
        "splits": 1,  # one study for all rounds, so that growth in rounds is that of playing
        "targets": {"n": targets, "min_visits": 10},
    }
    made = build(data=data, challenger=setting, mechanism=NOISE, folder=Path(), seed=1)
    return partial(_play, made, rounds)


def _play(made: Challenger, rounds: int) -> object:
    adversaries = {}
    for attack, knowledge in PLAYERS:
        held = know(knowledge, {}, made, 1)
        studied = catalog.build(ATTACKS, "Attack", attack, {}).study(held, stream(1, Role.STUDY))
        adversaries[f"{attack}-{knowledge}"] = Adversary(held, studied)
    return [play(made, adversaries, 1, range(first, first + 50), 0) for first in range(0, rounds, 50)]
