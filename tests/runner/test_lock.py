import signal
import subprocess
import sys

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.runner.lock import is_locked, locked

HOLDER = """
import sys, time
from pathlib import Path
from leakgauge.runner.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_is_refused_while_the_first_holds(holder, tmp_path):
    assert is_locked(tmp_path)
    with pytest.raises(BadInput, match="another run is writing to"), locked(tmp_path):
        pytest.fail("both hold it")


def test_a_kill_leaves_no_lock(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_a_look_at_the_status_does_not_stop_a_run(tmp_path, monkeypatch):
    import fcntl

    with locked(tmp_path):
        pass
    with (tmp_path / "lock").open("rb") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(looker, fcntl.LOCK_UN))
        with locked(tmp_path):
            pass


def test_a_folder_that_is_not_there_is_bad_input(tmp_path):
    assert not is_locked(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="cannot be written to"), locked(tmp_path / "nowhere"):
        pass


def test_a_lock_that_went_with_its_folder_holds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", lambda file, how: (tmp_path / "lock").unlink())
    with pytest.raises(BadInput, match="ended just now"), locked(tmp_path):
        pytest.fail("it holds a file that is no more")
