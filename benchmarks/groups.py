"""Random groups of people and their counts, on a target's cells and on all cells, compared with loops.

Loops that would take too long are timed on fewer groups and scaled up: every group takes the same time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from benchmarks.measure import Timing, growth, ratio, repeat, sized
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.group_sampling import count_kernels
from leakgauge.domains.locations.group_sampling.crowd import Crowd

GROUPS, SIZE, PEOPLE, CELLS = sized((200_000, 1_999, 7_896, 60), (500, 99, 400, 10))


def run() -> str:
    lines = [*_shadows(0.01, 15), *_shadows(0.001, 100)]
    lines += [*_whole("100 x 168", 5_000, 16_800, 60, 50), *_whole("500 x 720", 11_000, 360_000, 120, 15)]
    return "\n".join([*lines, *_growth()])


def _shadows(density: float, goal: float) -> Iterator[str]:
    rng = np.random.default_rng(1)
    crowd = _crowd(rng.random((PEOPLE, CELLS)) < density)
    dense, sample = crowd.visits.toarray(), 500
    loop = _scaled(repeat(lambda: _choose_and_sum(dense, sample, rng)), GROUPS / sample)
    yield (
        f"{GROUPS:,} shadow groups of {SIZE:,} of {PEOPLE:,} people on {CELLS} cells, {density:.1%} full; "
        f"choice + sum in a loop (timed on {sample} groups): {loop}; goal {goal} x"
    )
    columns = np.arange(CELLS)
    yield from _ways(partial(crowd.shadow_counts, GROUPS, SIZE, columns, rng), loop)


def _choose_and_sum(dense: np.ndarray, n_groups: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [dense[rng.choice(len(dense), SIZE, replace=False)].sum(axis=0) for _ in range(n_groups)]


def _whole(name: str, n_people: int, n_cells: int, n_visits: int, goal: float) -> Iterator[str]:
    rng = np.random.default_rng(2)
    crowd, n_groups, size, sample = _visiting(n_people, n_cells, n_visits, rng), 600, 1_000, 2
    people = crowd.people(sample, size, rng)
    loop = _scaled(repeat(lambda: _sum_people(crowd.visits, people), 3), n_groups / sample)
    sparse = _scaled(repeat(lambda: _sum_cells(crowd.traces, people), 3), n_groups / sample)
    yield (
        f"{n_groups} groups of {size:,} of {n_people:,} people on {name}, {n_visits} visits each; "
        f"summing person by person (timed on {sample} groups): {loop}; goal {goal} x; "
        f"adding each person's cells alone: {sparse}"
    )
    yield from _ways(lambda: crowd.counts(crowd.people(n_groups, size, rng), dtype=np.uint16), loop)


def _sum_people(visits: csr_array, people: np.ndarray) -> list[np.ndarray]:
    totals = []
    for group in people:
        total = np.zeros(visits.shape[1], np.uint16)
        for person in group:
            total += visits[[person]].toarray()[0]
        totals.append(total)
    return totals


def _sum_cells(traces: Traces, people: np.ndarray) -> list[np.ndarray]:
    totals = []
    for group in people:
        total = np.zeros(traces.map.n_cells, np.uint16)
        for person in group:
            total[traces.cells(person)] += 1
        totals.append(total)
    return totals


def _growth() -> Iterator[str]:
    rng = np.random.default_rng(3)
    rounds = sized([25_000, 50_000, 100_000, 200_000, 400_000], [50, 100])
    some = _crowd(rng.random((PEOPLE, CELLS)) < 0.01).on(np.arange(CELLS))
    times = [repeat(partial(some.counts, n, SIZE, rng), 3) for n in rounds]
    yield _curve("shadow groups, in rounds", rounds, times)
    people = sized([4_000, 16_000, 64_000, 256_000], [400, 800])
    crowds = [_crowd(rng.random((n, 20)) < 0.01).on(np.arange(20)) for n in people]
    times = [repeat(partial(some.counts, 2_048, n // 4, rng), 3) for n, some in zip(people, crowds)]
    yield _curve("shadow groups of a quarter of the people, in people", people, times)
    people = [
        250_000,
        500_000,
        1_000_000,
        2_000_000,
    ]  # a city that fits into the cache takes half as long a visit
    whole = [_visiting(n, 72_000, 20, rng) for n in people]
    times = [repeat(partial(some.shadow_counts, 8, n // 4, None, rng), 3) for n, some in zip(people, whole)]
    yield _curve("whole counts of a quarter of the people, in people", people, times)
    rounds = [50, 200, 800]
    times = [repeat(partial(whole[0].shadow_counts, n, 1_000, None, rng), 3) for n in rounds]
    yield _curve("whole counts of 1,000 people, in rounds", rounds, times)


def _curve(name: str, sizes: list[int], times: list[Timing]) -> str:
    points = ", ".join(f"{size:,}: {timing.median:.3g} s" for size, timing in zip(sizes, times))
    return f"growth of {name}: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"


def _ways(work: Callable[[], np.ndarray], loop: Timing) -> Iterator[str]:
    """Time the work with compiled loops and without."""
    if count_kernels.kernels():
        yield _row("numba", repeat(work), loop)
    with _without_numba():
        yield _row("numpy", repeat(work), loop)


def _row(name: str, timing: Timing, loop: Timing) -> str:
    return f"- {name}: {timing}, {ratio(loop, timing)}"


@contextmanager
def _without_numba() -> Iterator[None]:
    kept, count_kernels.kernels = count_kernels.kernels, lambda: None
    try:
        yield
    finally:
        count_kernels.kernels = kept


def _scaled(timing: Timing, factor: float) -> Timing:
    return Timing(tuple(seconds * factor for seconds in timing.seconds))


def _crowd(visits: np.ndarray) -> Crowd:
    days = np.zeros(1, dtype=np.int64)
    return Crowd(Traces(csr_array(visits.astype(np.uint8)), CellMap(visits.shape[1], 1, days)))


def _visiting(n_people: int, n_cells: int, n_visits: int, rng: np.random.Generator) -> Crowd:
    """Everybody visits one cell in each of as many strips of the map."""
    strip = n_cells // n_visits
    cells = rng.integers(0, strip, (n_people, n_visits), dtype=np.int32)
    cells += strip * np.arange(n_visits, dtype=np.int32)
    starts = np.arange(0, cells.size + 1, n_visits)
    visits = csr_array((np.ones(cells.size, np.uint8), cells.ravel(), starts), shape=(n_people, n_cells))
    return Crowd(Traces(visits, CellMap(n_cells, 1, np.zeros(1, dtype=np.int64))))
