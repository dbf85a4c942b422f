"""5,000 synthetic traces on 100 x 168 cells, all together against one at a time."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.measure import growth, repeat
from leakgauge.domains.locations.generating.city import City, generate
from leakgauge.domains.locations.habits.neighbourhoods import neighbourhoods
from leakgauge.domains.locations.habits.rates import Estimate, true_habits
from leakgauge.domains.locations.habits.synthetic_traces import PIECE, draw
from leakgauge.domains.locations.traces import Map

N, GOAL = 5_000, 8


def run() -> str:
    cells = generate(City(), seed=1).traces
    habits = true_habits(cells)
    return "\n".join([*_against_a_loop(habits, cells.map), _growth(habits, cells.map)])


def _against_a_loop(habits: Estimate, cells: Map) -> Iterator[str]:
    rng = np.random.default_rng(1)
    loop = repeat(lambda: one_at_a_time(habits, N, cells, rng), 3)
    together = repeat(lambda: draw(habits, N, cells, rng))
    yield f"{N:,} synthetic traces, 100 x 168; one at a time: {loop}; goal {GOAL} x"
    yield f"- together: {together}, {loop.median / together.median:.0f} x"


def one_at_a_time(
    habits: Estimate, n: int, cells: Map, rng: np.random.Generator
) -> list[set[tuple[int, int]]]:
    """Traces as places and epochs, made by the book."""
    graph = neighbourhoods(cells.positions)
    near = [set(graph.neighbours[a:b].tolist()) for a, b in zip(graph.starts[:-1], graph.starts[1:])]
    return [_one(habits, near, rng) for _ in range(n)]


def _one(habits: Estimate, near: list[set[int]], rng: np.random.Generator) -> set[tuple[int, int]]:
    """One trace, as algorithm 1 of Guan et al. (2024) reads."""
    origin = int(rng.choice(habits.space.size, p=habits.space))
    piece, touching = [origin], set(near[origin])
    while len(piece) < PIECE:
        place = sorted(touching)[rng.integers(len(touching))]
        piece.append(place)
        touching = (touching | near[place]) - set(piece)
    shares = habits.space[piece] / habits.space[piece].sum()
    n_visits = int(rng.exponential(habits.mean) + rng.random())
    places = rng.choice(piece, n_visits, p=shares)
    epochs = rng.choice(habits.time.size, n_visits, p=habits.time)
    return set(zip(places.tolist(), epochs.tolist()))


def _growth(habits: Estimate, cells: Map) -> str:
    sizes = [5_000, 20_000, 80_000, 320_000]
    times = [repeat(partial(draw, habits, n, cells, np.random.default_rng(2)), 3) for n in sizes]
    points = ", ".join(f"{n:,}: {timing.median:.3g} s" for n, timing in zip(sizes, times))
    return f"growth in traces: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"
