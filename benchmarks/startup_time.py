"""The time of ``leakgauge --help``, compared with starting Python."""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import ratio, repeat


def run() -> str:
    script = Path(sys.executable).with_name("leakgauge")
    nothing = repeat(lambda: _call(sys.executable, "-c", "pass"), 9, time.perf_counter)
    help_text = repeat(lambda: _call(str(script), "--help"), 9, time.perf_counter)
    goal = 3 * nothing.median + 0.3
    return (
        f"leakgauge --help: {help_text} wall; python -c pass: {nothing}; {ratio(help_text, nothing)}; "
        f"goal 3 x + 0.3 s = {goal:.3g} s"
    )


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
