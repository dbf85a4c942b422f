import os

import pytest

from leakgauge.support.cache import RecentCache, cached_text, file_identity


def test_least_recently_used_entry_is_evicted():
    made = []

    def make(name):
        return lambda: made.append(name) or name

    kept = RecentCache(2)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert kept.once(name, make(name)) == name
    assert made == ["a", "b", "c", "b"]


def test_changed_file_has_another_key(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id\n1\n")
    before = file_identity(file)
    assert file_identity(tmp_path / "." / "a.csv") == before
    os.utime(file, ns=(1, 1))
    assert file_identity(file) != before


def test_text_is_made_once_and_again_if_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []

    def make():
        made.append(1)
        return "ε\nlines\n"

    assert [cached_text("text.js", make) for _ in range(3)] == ["ε\nlines\n"] * 3
    assert len(made) == 1
    file = tmp_path / "leakgauge" / "text.js"
    for damage in (file.read_bytes()[:-2], b"", b"\xff\n\xfe"):
        file.write_bytes(damage)
        assert cached_text("text.js", make) == "ε\nlines\n"
    assert len(made) == 4


@pytest.mark.parametrize("folder", ["/proc/nowhere", "file"])
def test_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch, folder):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
    assert cached_text("text.js", lambda: "made") == "made"
