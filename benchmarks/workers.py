"""Two workers compared with one, on every engine, with a slow release."""

import tempfile
import time
from pathlib import Path

from benchmarks.measure import sized
from leakgauge import run as run_plan

RELEASE = """
import numpy as np

pair = (0.0, 1.0)


def slow(value, rng):
    noise = rng.laplace(size=20_000)
    return value + np.sort(noise)[10_000]
"""
PLAN = """
seed = 1
[[audit]]
name = "slow"
domain = "blackbox"
rounds = {rounds}
block = 500
challenger = {{ release = "slow_release:slow", pair = "slow_release:pair", epsilon = 1.0 }}
attacks = [{{ name = "learned_event", shadows = {rounds} }}]
"""


def run(rounds: int = sized(30_000, 200)) -> str:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "slow_release.py").write_text(RELEASE)
        (place / "plan.toml").write_text(PLAN.format(rounds=rounds))
        alone = _wall(place, "local", 1)
        lines.append(f"one worker: {alone:.1f} s wall")
        for engine in sized(("local", "dask", "ray"), ("local",)):
            seconds = _wall(place, engine, 2)
            lines.append(f"{engine}, two workers: {seconds:.1f} s, {alone / seconds:.2f} x")
    return "\n".join(lines)


def _wall(place: Path, engine: str, workers: int) -> float:
    start = time.perf_counter()
    run_plan(place / "plan.toml", out=place / f"run-{engine}-{workers}", engine=engine, workers=workers)
    return time.perf_counter() - start
