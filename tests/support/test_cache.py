import os

from leakgauge.support.cache import RecentCache, file_identity


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
