import shutil

from leakgauge.runner.run import run_plan
from leakgauge.runner.status import AuditProgress, run_status
from leakgauge.support.files import lock_folder


def test_finished_run_is_complete(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    found = run_status(tmp_path / "out")
    assert found.audits == (AuditProgress(audit="coin", played=100, rounds=100, complete=True),)
    assert found.complete
    assert found.judged
    assert not found.running
    assert found.continue_command is None


def test_run_with_missing_block_is_incomplete(plan, tmp_path):
    run_plan(plan(attacks='["peek", "sleep"]'), tmp_path / "out")
    folder = tmp_path / "out" / "audits" / "coin"
    (folder / "peek-nothing" / "block-00000000.npz").unlink()
    shutil.rmtree(folder / "sleep-nothing")
    found = run_status(tmp_path / "out")
    assert found.audits == (AuditProgress(audit="coin", played=0, rounds=100, complete=False),)
    assert found.continue_command.startswith("leakgauge run ")


def test_early_stopped_run_is_complete(plan, tmp_path):
    lying = {
        "mechanism": "{ epsilon = 4.0 }",
        "challenger": "{ promised = 0.5 }",
        "rounds": 2000,
        "block": 20,
    }
    run_plan(plan(stop='"decided"', **lying), tmp_path / "out")
    [standing] = run_status(tmp_path / "out").audits
    assert standing.played < standing.rounds
    assert standing.complete


def test_running_run_is_reported(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    with lock_folder(tmp_path / "out"):
        assert run_status(tmp_path / "out").running
