"""No example and no item of a paper at quick scale takes more than 3 GB of memory, with all its processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leakgauge.papers.paper import find_paper, paper_names

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parent.parent
MOST = 3e9  # bytes
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/plan.toml"))
ITEMS = [(paper, item) for paper in paper_names() for item in find_paper(paper).items]


def resident(group: int) -> int:
    """The bytes in memory of all processes of a group; what they share counts once for each."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8").rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue  # it ended meanwhile
    return total


def peak_of(command: list[str], folder: Path) -> int:
    with (folder / "output.txt").open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "leakgauge", *command, "--out", str(folder / "out")],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.1)
    assert process.returncode in (0, 1, 3), (folder / "output.txt").read_text("utf-8")[-500:]
    return peak


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    assert 5e7 < peak_of(["run", str(ROOT / "examples" / name / "plan.toml")], tmp_path) < MOST


@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_item_of_a_paper(paper, item, tmp_path):
    data = os.environ.get("LEAKGAUGE_DATA")
    more = ["--data", data] if data else []
    assert 5e7 < peak_of(["reproduce", paper, "--only", item, *more], tmp_path) < MOST
