import json
import os

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.runner import atomic


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "new" / "file"
    atomic.write(path, b"one")
    atomic.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in path.parent.iterdir()] == ["file"]


def test_a_writer_that_dies_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    atomic.write(path, b"old")

    def die(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(KeyboardInterrupt):
        atomic.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    atomic.sweep_up(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_in_one_line(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match="No space left on device"):
        atomic.write(tmp_path / "file", b"new")
    assert not (tmp_path / "file").exists()


def test_json_reads_back(tmp_path):
    atomic.write_json(tmp_path / "file", {"name": "città", "value": 0.1})
    assert json.loads((tmp_path / "file").read_bytes()) == {"name": "città", "value": 0.1}


def test_a_private_file_is_its_owners_alone_from_the_first_byte(tmp_path, monkeypatch):
    path, modes = tmp_path / "file", []
    path.write_text("old, for everybody")
    path.chmod(0o644)
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: modes.append(os.fstat(handle).st_mode & 0o777) or fsync(handle)
    )
    atomic.write(path, b"new", private=True)
    assert modes[0] == 0o600
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == b"new"
