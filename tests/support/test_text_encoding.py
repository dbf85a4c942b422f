import gzip

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support.tabular import duckdb_error_line
from leakgauge.support.text_encoding import refuse_other_encoding


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "in UTF-16, not in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-be"), "in UTF-16, not in UTF-8"),
        ("名前,年齢\n花子,36\n".encode("utf-16"), "in UTF-16, not in UTF-8"),
        (np.random.default_rng(1).bytes(3_000), "not text, but binary data"),
        (b"\xff\xfe" + np.random.default_rng(2).bytes(3_000), "not text, but binary data"),
        (b"a,b\n1,\0\n", "not text, but binary data"),
        (b"PK\x03\x04", "a workbook or another archive, not text"),
        (gzip.compress(b"a,b\n", mtime=0), "compressed, not text"),
        (b"PAR1 and so on", "Parquet, not text"),
    ],
)
def test_other_files_are_named(tmp_path, content, kind):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(BadInput, match=f"^here: a.csv is {kind}; save it as CSV in UTF-8$"):
        refuse_other_encoding(tmp_path / "a.csv", "here")


def test_text_passes_with_and_without_a_mark(tmp_path):
    for name, content in (("a.csv", b"a,b\n"), ("b.csv", "é,b\n".encode("utf-8-sig")), ("c.csv", b"")):
        (tmp_path / name).write_bytes(content)
        refuse_other_encoding(tmp_path / name, "here")
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a,b\n", mtime=0))
    refuse_other_encoding(tmp_path / "d.csv.gz", "here")
    refuse_other_encoding(tmp_path / "none.csv", "here")  # whoever opens it says that it is not there


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "Error: Could not convert string \"Ada L\" to 'BIGINT'",
            "Error: Could not convert string to 'BIGINT'",
        ),
        ("Error: Could not convert string 'O'Hara' to DOUBLE", "Error: Could not convert string to DOUBLE"),
        ("Error: Type DOUBLE with value 1815.5 can't be cast", "Error: Type DOUBLE with value can't be cast"),
        (
            "Error on Line: 3\nOriginal Line: Ada,1815\nExpected Number of Columns: 3",
            "Error on Line: 3: Expected",
        ),
    ],
)
def test_messages_of_the_database_lose_the_cell(message, line):
    found = duckdb_error_line(Exception(message))
    assert found.startswith(line)
    assert "Ada" not in found
