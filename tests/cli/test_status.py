import json

import pytest

from leakgauge import api


@pytest.fixture(autouse=True)
def _no_report(monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)


def test_a_run_is_followed_to_its_end(call, plan, tmp_path):
    call("run", plan())
    assert call("status", "runs/coin") == (0, "coin: 200 of 200 rounds, complete\n", "")
    next((tmp_path / "runs").rglob("block-00000001.npz")).unlink()
    outcome = call("status", "runs/coin")
    assert outcome.code == 0
    assert outcome.out == (
        "coin: 100 of 200 rounds, incomplete\ncontinue with: leakgauge run coin.toml --out runs/coin\n"
    )


def test_json_says_the_same(call, plan):
    call("run", plan())
    found = json.loads(call("status", "runs/coin", "--json").out)
    assert found["complete"] is True
    assert found["audits"] == [{"audit": "coin", "played": 200, "rounds": 200, "complete": True}]


def test_a_folder_that_is_no_run_is_code_2(call):
    assert call("status", ".").code == 2
    assert call("status", "nowhere").code == 2
