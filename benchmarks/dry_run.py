"""What a dry run costs, compared with the run itself, for every example; and the report of ten verdicts.

Most examples run some seconds, half of which is the loading of libraries that both need. So those whose dry
run takes more than a fifth are measured with more rounds too, as many as run up to a minute or so.

CPU time of a command and of the processes that it starts, with the loading of libraries. Set
PYTHONPYCACHEPREFIX where the byte code of libraries cannot be kept beside them: compiling them counts too.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Timing, ratio, repeat, sized

EXAMPLES = Path(__file__).parents[1] / "examples"
REPORTED = "city-by-hour"  # ten verdicts
LONGER = {  # how many times as many rounds they then have
    "city-table": 16,
    "dp-training": 20,
    "federated-clients": 30,
    "flower-app": 15,
    "genotypes": 8,
    "laplace-sweep": 100,
    "local-reports": 30,
    "query-attributes": 60,
}


def run(repeats: int = sized(3, 1)) -> str:
    lines = ["dry run, run, dry run / run (goal at most 0.2 x); range that was estimated, time that it took:"]
    with TemporaryDirectory() as folder:
        plans = sorted(EXAMPLES.glob(sized("*", REPORTED) + "/plan.toml"))
        lines += [compare(plan, Path(folder) / plan.parent.name, repeats) for plan in plans]
        lines += [
            compare(longer_plan(name, factor, Path(folder)), Path(folder) / f"{name}-longer", 1)
            for name, factor in sized(LONGER, {}).items()
        ]
        reported = Path(folder) / REPORTED
        report = repeat(lambda: _leakgauge("report", reported), repeats, _cpu_seconds)
        n_verdicts = len(json.loads((reported / "verdicts.json").read_bytes())["verdicts"])
    lines.append(f"report.html of {n_verdicts} verdicts: {report}; goal at most 1.5 s")
    return "\n".join(lines)


def longer_plan(name: str, factor: int, folder: Path) -> Path:
    """Write an example with so many times as many rounds, where an audit has more than one."""
    example = folder / f"{name} with {factor} times as many rounds"
    shutil.copytree(EXAMPLES / name, example, ignore=shutil.ignore_patterns("__pycache__", "runs"))
    plan = example / "plan.toml"
    plan.write_text(
        re.sub(
            r"^rounds = ([\d_]{2,})",
            lambda found: f"rounds = {factor * int(found[1].replace('_', ''))}",
            plan.read_text(),
            flags=re.MULTILINE,
        )
    )
    return plan


def compare(plan: Path, folder: Path, repeats: int) -> str:
    """The line of one plan."""
    estimates, walls = [], []

    def dry_run() -> None:
        estimates.append(json.loads(_leakgauge("run", plan, "--dry-run", "--json"))["seconds_range"])

    def whole_run() -> float:
        before, start = _cpu_seconds(), time.perf_counter()
        _leakgauge("run", plan, "--out", folder, "--fresh")
        walls.append(time.perf_counter() - start)
        return _cpu_seconds() - before

    dry = repeat(dry_run, repeats, _cpu_seconds)
    whole = Timing(tuple(whole_run() for _ in range(repeats)))
    estimate = ", ".join(f"{low:.0f} to {high:.0f} s" for low, high in estimates[-repeats:])
    took = ", ".join(f"{seconds:.0f} s" for seconds in walls)
    return f"- {plan.parent.name}: {dry}, {whole}, {ratio(dry, whole)}; {estimate}; {took}"


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
