"""The commands on the page about bundles do what it says, on a small version of the example."""

import re
import shlex
import shutil
from pathlib import Path

from leakgauge.cli.main import main
from leakgauge.runner.bundle_zip import read_zip

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "bundle.md").read_text()


def test_commands_run_and_the_bundle_holds_what_the_page_lists(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples" / "noisy-count", tmp_path / "examples" / "noisy-count")
    plan = tmp_path / "examples" / "noisy-count" / "plan.toml"
    head, first, *_ = plan.read_text().split("[[audit]]")
    few = 'rounds = 200\nattacks = [{ name = "learned_event", shadows = 1_000 }]'
    plan.write_text(f"{head}[[audit]]{first.replace('rounds = 20_000', few)}")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    codes = [main(shlex.split(line)[1:]) for line in block.splitlines()]
    assert codes[1:] == [0, 0]
    assert "Exit code 0: everything agrees." in capsys.readouterr().out
    table = PAGE.partition("## What is in it")[2].partition("## What is not")[0]
    listed = set(re.findall(r"`([\w.]+(?:\.json|\.html|\.toml|/))`", table))
    assert {name.partition("/")[0] for name in read_zip(tmp_path / "counts.zip")} <= {
        name.rstrip("/") for name in listed
    }
