import stat
from pathlib import Path

import duckdb
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.duckdb_rows import open_visit_database


def test_what_does_not_fit_into_memory_lies_in_a_private_folder_that_goes():
    with open_visit_database("v.csv") as connection:
        ((folder,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    assert not Path(folder).exists()


def test_nothing_is_fetched_from_elsewhere():
    with open_visit_database("v.csv") as connection:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert connection.execute(f"SELECT current_setting('{name}')").fetchall() == [(False,)]


def test_unreadable_files_are_the_users_and_wrong_queries_are_ours(tmp_path):
    (tmp_path / "v.parquet").write_bytes(b"nothing")
    with (
        pytest.raises(BadInput, match=r"v.parquet cannot be read"),
        open_visit_database("v.parquet") as connection,
    ):
        connection.execute(f"SELECT * FROM read_parquet('{tmp_path / 'v.parquet'}')")
    with pytest.raises(duckdb.CatalogException), open_visit_database("v.csv") as connection:
        connection.execute("SELECT * FROM nothing_of_that_name")
