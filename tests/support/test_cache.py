import os

from leakgauge.support.cache import RecentCache, file_identity


def test_things_are_made_once_and_the_longest_unused_one_goes_first():
    made = []

    def make(name):
        return lambda: made.append(name) or name

    kept = RecentCache(2)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert kept.once(name, make(name)) == name
    assert made == ["a", "b", "c", "b"]


def test_a_changed_file_is_another_file(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id\n1\n")
    before = file_identity(file)
    assert file_identity(tmp_path / "." / "a.csv") == before
    os.utime(file, ns=(1, 1))
    assert file_identity(file) != before
