import json
import os
import signal
import subprocess
import sys

import pytest
from filelock import FileLock

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.support import files
from leakgauge.support.files import is_locked, lock_folder


def test_file_is_replaced_atomically(tmp_path):
    path = tmp_path / "new" / "file"
    files.write_file(path, b"one")
    files.write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in path.parent.iterdir()] == ["file"]


def test_failed_write_keeps_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.write_file(path, b"old")

    def die(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(KeyboardInterrupt):
        files.write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    files.remove_partial_files(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_full_disk_is_reported_in_one_line(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        IncompleteRun, match=r"file: cannot be written \(No space left on device\); free some"
    ):
        files.write_file(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == [], "a partial file would take up space"


def test_json_round_trips(tmp_path):
    files.write_json(tmp_path / "file", {"name": "città", "value": 0.1})
    assert json.loads((tmp_path / "file").read_bytes()) == {"name": "città", "value": 0.1}


def test_private_file_is_created_with_owner_permissions(tmp_path, monkeypatch):
    path, modes = tmp_path / "file", []
    path.write_text("old, for everybody")
    path.chmod(0o644)
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: modes.append(os.fstat(handle).st_mode & 0o777) or fsync(handle)
    )
    files.write_file(path, b"new", private=True)
    assert modes[0] == 0o600
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == b"new"


HOLDER = """
import sys
from pathlib import Path
from leakgauge.support.files import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], **pipes, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_second_lock_is_rejected(holder, tmp_path):
    assert is_locked(tmp_path)
    with pytest.raises(BadInput, match="another run is writing to"), lock_folder(tmp_path):
        pytest.fail("both hold it")


def test_killed_process_releases_lock(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path)
    with lock_folder(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_status_check_does_not_block_run(tmp_path, monkeypatch):
    import fcntl

    with lock_folder(tmp_path):
        pass
    with (tmp_path / "lock").open("rb") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(looker, fcntl.LOCK_UN))
        with lock_folder(tmp_path):
            pass


SOFT = """
import sys
sys.modules["fcntl"] = None  # as where the system has no locks of files
from pathlib import Path
from leakgauge.core.errors import BadInput
from leakgauge.support.files import is_locked, lock_folder
folder = Path(sys.argv[1])
for _ in range(2):
    with lock_folder(folder):
        assert is_locked(folder)
        try:
            with lock_folder(folder):
                print("both hold it")
        except BadInput as error:
            print(error)
    assert not is_locked(folder)
"""


def test_a_file_left_by_a_lock_is_not_held_where_there_are_no_locks_of_files(tmp_path):
    with lock_folder(tmp_path):
        pass
    command = [sys.executable, "-W", "ignore", "-c", SOFT, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(" to ")[0] for line in done.stdout.splitlines()] == 2 * ["another run is writing"]
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_missing_folder_is_bad_input(tmp_path):
    assert not is_locked(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="cannot be written to"), lock_folder(tmp_path / "nowhere"):
        pass


def test_rejects_lock_file_removed_while_locking(tmp_path, monkeypatch):
    class RemovedLock(FileLock):
        def acquire(self, *arguments, **options):
            held = super().acquire(*arguments, **options)
            (tmp_path / "lock").unlink()
            return held

    monkeypatch.setattr("filelock.FileLock", RemovedLock)
    with pytest.raises(BadInput, match="ended just now"), lock_folder(tmp_path):
        pytest.fail("it holds a file that is no more")


def test_a_folder_that_was_checked_for_writing_is_as_it_was_before(tmp_path):
    files.require_writable(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    files.require_writable(tmp_path)
    with pytest.raises(BadInput, match="cannot be written to"):
        files.require_writable(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
