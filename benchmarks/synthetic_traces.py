"""5,000 synthetic traces on 100 x 168 cells, vectorised, compared with one at a time."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.measure import growth, ratio, repeat, sized
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity, generate_city
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile, true_profile
from leakgauge.domains.locations.mobility.synthetic_traces import (
    PLACES_PER_PERSON,
    delaunay_graph,
    draw_traces,
)

N, GOAL = sized(5_000, 50), 8


def run() -> str:
    cells = generate_city(SyntheticCity(), seed=1).traces
    habits = true_profile(cells)
    return "\n".join([*_against_a_loop(habits, cells.map), _growth(habits, cells.map)])


def _against_a_loop(habits: MobilityProfile, cells: CellMap) -> Iterator[str]:
    rng = np.random.default_rng(1)
    loop = repeat(lambda: one_at_a_time(habits, N, cells, rng), 3)
    together = repeat(lambda: draw_traces(habits, N, cells, rng))
    yield f"{N:,} synthetic traces, 100 x 168; one at a time: {loop}; goal {GOAL} x"
    yield f"- together: {together}, {ratio(loop, together)}"


def one_at_a_time(
    habits: MobilityProfile, n: int, cells: CellMap, rng: np.random.Generator
) -> list[set[tuple[int, int]]]:
    """Traces as places and epochs, made by the book."""
    graph = delaunay_graph(cells.positions)
    near = [set(graph.neighbours[a:b].tolist()) for a, b in zip(graph.starts[:-1], graph.starts[1:])]
    return [_one(habits, near, rng) for _ in range(n)]


def _one(habits: MobilityProfile, near: list[set[int]], rng: np.random.Generator) -> set[tuple[int, int]]:
    """One trace, as algorithm 1 of Guan et al. (2024) reads."""
    origin = int(rng.choice(habits.space.size, p=habits.space))
    piece, touching = [origin], set(near[origin])
    while len(piece) < PLACES_PER_PERSON:
        place = sorted(touching)[rng.integers(len(touching))]
        piece.append(place)
        touching = (touching | near[place]) - set(piece)
    shares = habits.space[piece] / habits.space[piece].sum()
    n_visits = int(rng.exponential(habits.mean) + rng.random())
    places = rng.choice(piece, n_visits, p=shares)
    epochs = rng.choice(habits.time.size, n_visits, p=habits.time)
    return set(zip(places.tolist(), epochs.tolist()))


def _growth(habits: MobilityProfile, cells: CellMap) -> str:
    sizes = sized([5_000, 20_000, 80_000, 320_000], [50, 100])
    times = [repeat(partial(draw_traces, habits, n, cells, np.random.default_rng(2)), 3) for n in sizes]
    points = ", ".join(f"{n:,}: {timing.median:.3g} s" for n, timing in zip(sizes, times))
    return f"growth in traces: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"
