"""The examples that come with leakgauge: in an installed package, or beside the source tree."""

import re
import shutil
from itertools import takewhile
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.support.table_reader import require_known

_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")  # of a wheel, of a source tree
_LEFT_OUT = ("__pycache__", "*.pyc", ".flwr", "runs")


def examples_folder() -> Path:
    """Return the folder that holds the examples, one folder each."""
    for place in _PLACES:
        if place.is_dir():
            return place
    raise BadInput("the examples are not installed; install leakgauge again, from a complete wheel")


def example_lines() -> dict[str, str]:
    """Name the examples, with the first line of each."""
    folders = sorted(path for path in examples_folder().iterdir() if path.is_dir() and any(path.iterdir()))
    return {folder.name: _first_line(folder) for folder in folders if not folder.name.startswith((".", "_"))}


def _first_line(folder: Path) -> str:
    plan = folder / "plan.toml"
    if not plan.is_file():
        return f"A file to begin with: {', '.join(sorted(path.name for path in folder.iterdir()))}"
    comment = takewhile(lambda line: line.startswith("# "), plan.read_text(encoding="utf-8").splitlines())
    text = " ".join(line.removeprefix("# ") for line in comment if not line.startswith("#  "))
    return re.split(r"(?<=[.?]) ", text, maxsplit=1)[0]


def copy_example(name: str, target: Path, *, force: bool = False) -> Path:
    """Copy an example to a folder; nothing that is there is replaced unless ``force`` is set."""
    require_known(name, list(example_lines()), "no example")
    source = examples_folder() / name
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and not _is_left_out(path, source)]
    there = [path for path in files if (target / path.relative_to(source)).exists()]
    if there and not force:
        raise BadInput(
            f"{target / there[0].relative_to(source)}: exists already; choose another folder (--out), or add "
            "--force to replace it"
        )
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return target


def _is_left_out(path: Path, source: Path) -> bool:
    parents = [path, *path.relative_to(source).parents]
    return any(parent.match(pattern) for parent in parents for pattern in _LEFT_OUT if str(parent) != ".")
