import os

import pytest

from domains.locations.tiny_files import written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.data_loader import load_visits


def test_default_source_is_synthetic_city(tmp_path):
    named = load_visits({"source": "synthetic", "users": 30}, tmp_path, seed=3)
    assert load_visits({"users": 30}, tmp_path, seed=3).digest == named.digest
    assert named.traces.n_people == 30
    assert named.tally.rows == named.traces.visits.nnz


def test_file_is_found_relative_to_plan_folder(tmp_path):
    path = written(tmp_path, "v.csv", "user,time,place", "a,1367359200,p")
    relative, absolute = (
        load_visits({"source": source}, tmp_path, seed) for source, seed in (("v.csv", 1), (str(path), 2))
    )
    assert relative.digest == absolute.digest
    assert relative.traces.names.tolist() == ["a"]


def test_rejects_city_keys_for_a_file(tmp_path):
    with pytest.raises(BadInput, match=r"data: no key is called 'users'"):
        load_visits({"source": "v.csv", "users": 30}, tmp_path, seed=1)


def read_counted(monkeypatch):
    """Count how often a file is read."""
    from leakgauge.domains.locations.data.visit_files import visit_reader

    read, times = visit_reader.read_visits, []

    def counted(table, folder, releases):
        times.append(table.source)
        return read(table, folder, releases)

    monkeypatch.setattr(visit_reader, "read_visits", counted)
    return times


def test_unchanged_file_is_read_once(tmp_path, monkeypatch):
    times = read_counted(monkeypatch)
    path = written(tmp_path, "v.csv", "user,time,place", "a,1367359200,p", "b,1367359200,q")
    first = load_visits({"source": "v.csv"}, tmp_path, seed=1)
    assert load_visits({"source": str(path)}, tmp_path, seed=1).digest == first.digest  # another word for it
    again = load_visits({"source": "v.csv"}, tmp_path, seed=2)
    assert again is first
    assert times == ["v.csv", str(path)]
    other = load_visits({"source": "v.csv", "min_visits": 1, "epoch": "2h"}, tmp_path, seed=1)
    assert other is not first
    assert len(times) == 3


def test_changed_file_is_read_again(tmp_path):
    path = written(tmp_path, "v.csv", "user,time,place", "a,1367359200,p")
    first = load_visits({"source": "v.csv"}, tmp_path, seed=1)
    before = path.stat()
    written(tmp_path, "v.csv", "user,time,place", "b,1367359200,p")  # as long as before
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert load_visits({"source": "v.csv"}, tmp_path, seed=1).traces.names.tolist() == ["b"]
    assert first.traces.names.tolist() == ["a"]


def test_changed_coordinates_file_is_read_again(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,1367359200,p")
    table = {"source": "v.csv", "places": "p.csv"}
    written(tmp_path, "p.csv", "place,lat,lon", "p,1,1")
    assert load_visits(table, tmp_path, seed=1).traces.map.n_places == 1
    written(tmp_path, "p.csv", "place,lat,lon", "p,1,1", "q,2,2")
    assert load_visits(table, tmp_path, seed=1).traces.map.n_places == 2


def test_cache_keeps_two_data_sets(tmp_path):
    cities = [load_visits({"users": users}, tmp_path, seed=1) for users in (30, 40, 50)]
    assert load_visits({"users": 50}, tmp_path, seed=1) is cities[2]
    assert load_visits({"users": 40}, tmp_path, seed=1) is cities[1]
    again = load_visits({"users": 30}, tmp_path, seed=1)
    assert again is not cities[0]
    assert again.digest == cities[0].digest
    assert load_visits({"users": 30}, tmp_path, seed=2).digest != again.digest


def test_digest_covers_friends(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,1367359200,p", "b,1367359200,q", "c,1367359200,q")
    written(tmp_path, "f.csv", "target,friend", "a,b")
    plain = load_visits({"source": "v.csv"}, tmp_path, seed=1)
    table = {"source": "v.csv", "friends": "f.csv"}
    known = load_visits(table, tmp_path, seed=1)
    assert plain.friends is None
    assert known.friends.of(0).tolist() == [1]
    assert known.traces is plain.traces
    written(tmp_path, "f.csv", "target,friend", "a,c")
    other = load_visits(table, tmp_path, seed=1)
    assert other.friends.of(0).tolist() == [2]
    assert len({plain.digest, known.digest, other.digest}) == 3
    with pytest.raises(BadInput, match=r"data.friends: must be a CSV file"):
        load_visits({"source": "v.csv", "friends": ["b"]}, tmp_path, seed=1)


def test_synthetic_city_may_have_friends(tmp_path):
    written(tmp_path, "f.csv", "target,friend", "3,29")
    assert load_visits({"users": 30, "friends": "f.csv"}, tmp_path, seed=1).friends.of(3).tolist() == [29]
