import stat
from pathlib import Path

import duckdb
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.duckdb_rows import open_visit_database


def test_spill_folder_is_private_and_removed():
    with open_visit_database("v.csv") as connection:
        ((folder,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    assert not Path(folder).exists()


def test_extensions_are_not_downloaded():
    with open_visit_database("v.csv") as connection:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert connection.execute(f"SELECT current_setting('{name}')").fetchall() == [(False,)]


def test_unreadable_file_is_bad_input_and_bad_sql_is_not(tmp_path):
    (tmp_path / "v.parquet").write_bytes(b"nothing")
    with (
        pytest.raises(BadInput, match=r"v.parquet cannot be read"),
        open_visit_database("v.parquet") as connection,
    ):
        connection.execute(f"SELECT * FROM read_parquet('{tmp_path / 'v.parquet'}')")
    with pytest.raises(duckdb.CatalogException), open_visit_database("v.csv") as connection:
        connection.execute("SELECT * FROM nothing_of_that_name")
