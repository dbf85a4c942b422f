import json
import platform
from importlib import metadata

import pytest

from leakgauge import api
from leakgauge.version import VERSION


@pytest.fixture(autouse=True)
def _no_report(monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)


def test_status_follows_run_until_complete(call, plan, tmp_path, monkeypatch):
    call("run", plan())
    numpy, scipy, python = metadata.version("numpy"), metadata.version("scipy"), platform.python_version()
    begun = f"begun with: leakgauge {VERSION}, python {python}, numpy {numpy}, scipy {scipy}\n"
    assert call("status", "runs/coin") == (0, f"coin: 200 of 200 rounds, complete\n{begun}", "")
    next((tmp_path / "runs").rglob("block-00000001.npz")).unlink()
    outcome = call("status", "runs/coin")
    assert outcome.code == 0
    assert outcome.out == (
        f"coin: 100 of 200 rounds, incomplete\n{begun}"
        "continue with: leakgauge run coin.toml --out runs/coin\n"
    )
    monkeypatch.setattr(metadata, "version", lambda _: "99.1")
    [last] = call("status", "runs/coin").out.splitlines()[2:]
    assert last == (
        f"cannot be continued: its blocks were run with numpy {numpy}, and this would be run with numpy "
        "99.1; install what they were run with; or start over: leakgauge run coin.toml --out runs/coin "
        "--fresh"
    )


def test_json_status_matches_text(call, plan):
    call("run", plan())
    found = json.loads(call("status", "runs/coin", "--json").out)
    assert found["complete"] is True
    assert found["versions"]["numpy"] == metadata.version("numpy")
    assert found["audits"] == [{"audit": "coin", "played": 200, "rounds": 200, "complete": True}]


def test_non_run_folder_exits_with_code_2(call):
    assert call("status", ".").code == 2
    assert call("status", "nowhere").code == 2


def test_commands_to_be_pasted_are_quoted(call, plan, tmp_path):
    """The name of a plan file may be that of somebody else's run folder."""
    plan()
    name = "x; touch mark; $(touch mark).toml"
    (tmp_path / "coin.toml").rename(tmp_path / name)
    call("run", name, "--out", "my run")
    next((tmp_path / "my run").glob("audits/*/*/block-*1.npz")).unlink()
    for command in ("status", "judge"):
        done = call(command, "my run")
        assert f"continue with: leakgauge run '{name}' --out 'my run'" in done.out + done.err
