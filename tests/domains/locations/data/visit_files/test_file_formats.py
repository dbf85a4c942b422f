from hashlib import sha256

import pytest

from domains.locations.tiny_files import written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.file_formats import (
    digest_files,
    find_files,
    format_of_files,
)


def test_glob_pattern_is_sorted(tmp_path):
    for name in ("b.csv", "a.csv", "a.txt"):
        written(tmp_path, name, "x")
    found = find_files("*.csv", tmp_path, None, "data.source")
    assert [file.name for file in found] == ["a.csv", "b.csv"]
    assert find_files(str(tmp_path / "a*.csv"), tmp_path, None, "data.source") == (tmp_path / "a.csv",)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("v.CSV", "csv"), ("v.tsv.gz", "csv"), ("v.pq", "parquet"), ("v.geojson.gz", "geojson")],
)
def test_format_follows_from_file_name(tmp_path, name, kind):
    assert format_of_files((tmp_path / name,), "data.source") == kind


def test_unknown_suffix_lists_known_ones(tmp_path):
    with pytest.raises(BadInput, match=r"'v.dat' has an unknown ending; known: .csv, .csv.gz"):
        format_of_files((tmp_path / "v.dat",), "data.source")


def test_digest_is_hash_of_settings_and_contents(tmp_path):
    file = written(tmp_path, "a.csv", "x")
    expected = sha256(b"2:ab" + sha256(b"x\n").digest()).hexdigest()
    assert digest_files((file,), "ab") == expected
    assert digest_files((file,), "a", "b") != expected
