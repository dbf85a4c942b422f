"""Exposure of up to 2,000,000 people with 50 visits each in 500 places x 720 hours: time, memory and growth.

The attacker knows everyone else in the table, and small counts are suppressed. Every size runs in a process
of its own, from the generation of the people to their numbers, so that its memory can be seen.
"""

import resource
import subprocess
import sys
import time

from benchmarks.measure import Timing, growth, sized
from leakgauge.catalog import build_challenger
from leakgauge.domains.locations.exposure import expose
from leakgauge.plan import plan_of
from leakgauge.support.threads import single_threaded

SIZES = sized((250_000, 500_000, 1_000_000, 2_000_000), (1_000, 2_000))
COUNTRY = 50_000_000
GIGABYTE = 1e9


def run(sizes: tuple[int, ...] = SIZES) -> str:
    lines, loads, timings = [], [], []
    for n_people in sizes:
        command = [sys.executable, "-m", "benchmarks.whole_country", str(n_people)]
        measured = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        loading, exposing, wall, memory, visits = map(float, measured)
        loads.append(loading)
        timings.append(Timing((exposing,)))
        lines.append(
            f"{n_people:,} people, {visits:,.0f} visits: {loading:.0f} s to generate, {exposing:.0f} s to "
            f"expose ({wall:.0f} s by the clock), {memory / GIGABYTE:.2f} GB at most"
        )
    slope, last = growth(sizes, timings), sizes[-1]
    hours = timings[-1].median * COUNTRY / last / 3600
    return "\n".join(
        [
            *lines,
            f"growth of exposure in people: slope {slope:.2f} (goal <= 1.1); memory goal: 12 GB",
            f"in proportion, {COUNTRY:,} people: {hours:.1f} core-hours to expose",
        ]
    )


def measure(n_people: int) -> str:
    """CPU seconds to generate people and to expose them, seconds by the clock, bytes, and visits."""
    plan = plan_of(
        {
            "seed": 1,
            "audit": [
                {
                    "name": "country",
                    "domain": "locations",
                    "rounds": 1,
                    "data": {
                        "source": "synthetic",
                        "users": n_people,
                        "sites": 500,
                        "epochs": 720,
                        "visits": 50,
                    },
                    "mechanism": {
                        "name": "laplace",
                        "epsilon": 1.0,
                        "round": True,
                        "clamp": True,
                        "suppress": 1,
                    },
                    "challenger": {"group_size": "everyone", "relation": "add_remove"},
                }
            ],
        }
    )
    with single_threaded():
        challenger = build_challenger(plan.audits[0], plan)
        loaded, start = time.process_time(), time.perf_counter()
        expose(challenger, ("informed",))
        exposed, wall = time.process_time() - loaded, time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return f"{loaded:.2f} {exposed:.2f} {wall:.2f} {memory} {challenger.traces.visits.nnz}"


if __name__ == "__main__":
    print(measure(int(sys.argv[1])))
