"""Run every benchmark, or those named, and write what they measured: ``python -m benchmarks judge_trials``.

Each benchmark replaces its own section of results.md, with the date, the machine and what else it was doing.
One that fails leaves its section as it was, and does not stop the others; the exit code is then 1.
"""

import os
import platform
import re
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import iter_modules

RESULTS = Path(__file__).with_name("results.md")
NOT_BENCHMARKS = {"__main__", "measure"}
HEADER = """\
<!-- Written by make bench; do not edit. -->

Times are CPU seconds unless a line says otherwise: the median of several repeats, and their range.
`30 x (25 to 40)` is the ratio of the medians, with the smallest and the largest ratio that the repeats allow.
"""


def main() -> int:
    failed = []
    for name in sys.argv[1:] or names():
        load = os.getloadavg()[0]
        try:
            module = import_module(f"benchmarks.{name}")
            measured = _listed(module.run())
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        section = f"{_conditions(load)}\n\n{_summary(module.__doc__ or '')}\n\n{measured}"
        print(f"## {name}\n\n{section}\n", flush=True)
        write_section(RESULTS, name, section)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def names() -> list[str]:
    """Name all benchmarks: the modules of this package that measure something."""
    found = [module.name for module in iter_modules([str(Path(__file__).parent)])]
    return [name for name in found if name not in NOT_BENCHMARKS]


def write_section(path: Path, name: str, section: str) -> None:
    """Replace one section, keep the others, and say which benchmarks have none yet."""
    sections = dict(read_sections(path)) | {name: section}
    missing = [name for name in names() if name not in sections]
    parts = [HEADER, *(f"## {name}\n\n{sections[name]}\n" for name in names() if name in sections)]
    if missing:
        parts.append(f"## Not measured yet\n\n{', '.join(f'`{name}`' for name in missing)}\n")
    path.write_text("\n".join(parts))


def read_sections(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each benchmark of a file of results with its section."""
    text = path.read_text() if path.exists() else ""
    for name, section in re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        yield name, section.strip()


def _conditions(load: float) -> str:
    cores = os.cpu_count() or 1
    busy = f"; busy: load {load:.1f} on {cores} cores" if load > cores / 2 else ""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return (
        f"*{datetime.now(UTC):%Y-%m-%d}, {cores} cores ({_processor()}), {platform.system()}, "
        f"Python {platform.python_version()}, {packages}{busy}*"
    )


def _processor() -> str:
    """The model of the processor; its family where the system does not say."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1].strip() if found else platform.machine()


def _summary(docstring: str) -> str:
    return " ".join(docstring.split("\n\n", maxsplit=1)[0].split())


def _listed(text: str) -> str:
    """The lines of a benchmark as a list: lines with a dash belong to the line without one above them."""
    lines, headed = [], False
    for line in text.splitlines():
        dashed, deeper = line.lstrip().startswith("- "), line.startswith("  ")
        indent = "    " * (deeper + 1) if dashed and headed else ""
        lines.append(f"{indent}- {line.strip().removeprefix('- ')}")
        headed = headed or not dashed
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
