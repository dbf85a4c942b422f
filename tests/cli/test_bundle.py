import json


def test_prints_what_is_in_it_and_how_to_check_it(call, plan, tmp_path):
    plan()
    call("run", "coin.toml")
    done = call("bundle", "runs/coin")
    assert (done.code, done.err) == (0, "")
    assert "Bundle: runs/coin.zip (" in done.out
    assert "Hidden: nothing" in done.out
    assert "Check it with: leakgauge verify runs/coin.zip" in done.out
    again = json.loads(call("bundle", "runs/coin", "--out", "x.zip", "--json").out)
    assert again["sha256"] in done.out
    assert (tmp_path / "x.zip").read_bytes() == (tmp_path / "runs" / "coin.zip").read_bytes()


def test_incomplete_run_is_refused_and_nothing_is_written(call, plan, tmp_path):
    plan()
    call("run", "coin.toml")
    next((tmp_path / "runs").rglob("block-*.npz")).unlink()
    done = call("bundle", "runs/coin")
    assert done.code == 3
    assert "continue with: leakgauge run coin.toml" in done.err
    assert not (tmp_path / "runs" / "coin.zip").exists()
