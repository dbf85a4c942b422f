import pytest

from domains.locations.tiny_files import written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data import load


def test_a_city_is_the_default(tmp_path):
    named = load({"source": "synthetic", "users": 30}, tmp_path, seed=3)
    assert load({"users": 30}, tmp_path, seed=3).digest == named.digest
    assert named.traces.n_people == 30
    assert named.tally.rows == named.traces.visits.nnz


def test_a_file_is_looked_for_in_the_folder_and_needs_no_seed(tmp_path):
    path = written(tmp_path, "v.csv", "user,time,place", "a,0,p")
    relative, absolute = (
        load({"source": source}, tmp_path, seed) for source, seed in (("v.csv", 1), (str(path), 2))
    )
    assert relative.digest == absolute.digest
    assert relative.traces.names.tolist() == ["a"]


def test_keys_of_a_city_are_no_keys_of_a_file(tmp_path):
    with pytest.raises(BadInput, match=r"data: no key is called 'users'"):
        load({"source": "v.csv", "users": 30}, tmp_path, seed=1)
