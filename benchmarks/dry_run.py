"""What a dry run costs, compared with the run itself, for every example; and the report of ten verdicts.

CPU time of a command and of the processes that it starts, with the loading of libraries. Set
PYTHONPYCACHEPREFIX where the byte code of libraries cannot be kept beside them: compiling them counts too.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Timing, ratio, repeat

EXAMPLES = Path(__file__).parents[1] / "examples"
REPORTED = "city-by-hour"  # ten verdicts


def run(repeats: int = 3) -> str:
    lines = ["dry run, run, dry run / run (goal at most 0.2 x); time that was estimated / time that it took:"]
    with TemporaryDirectory() as folder:
        plans = sorted(EXAMPLES.glob("*/plan.toml"))
        lines += [_compare(plan, Path(folder) / plan.parent.name, repeats) for plan in plans]
        reported = Path(folder) / REPORTED
        report = repeat(lambda: _leakgauge("report", reported), repeats, _cpu_seconds)
        n_verdicts = len(json.loads((reported / "verdicts.json").read_bytes())["verdicts"])
    lines.append(f"report.html of {n_verdicts} verdicts: {report}; goal at most 1.5 s")
    return "\n".join(lines)


def _compare(plan: Path, folder: Path, repeats: int) -> str:
    estimates, walls = [], []

    def dry_run() -> None:
        estimates.append(json.loads(_leakgauge("run", plan, "--dry-run", "--json"))["seconds"])

    def whole_run() -> float:
        before, start = _cpu_seconds(), time.perf_counter()
        _leakgauge("run", plan, "--out", folder, "--fresh")
        walls.append(time.perf_counter() - start)
        return _cpu_seconds() - before

    dry = repeat(dry_run, repeats, _cpu_seconds)
    whole = Timing(tuple(whole_run() for _ in range(repeats)))
    estimate = ratio(Timing(tuple(estimates[1:])), Timing(tuple(walls)))
    return f"- {plan.parent.name}: {dry}, {whole}, {ratio(dry, whole)}; {estimate}"


def _leakgauge(*arguments: str | Path) -> str:
    """Call the command as a user would: byte code of libraries is kept, and findings are no failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "leakgauge.cli.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
