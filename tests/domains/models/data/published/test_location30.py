import pytest

from domains.models.tiny_tables import write_archive
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.sources import load_table

LINES = '"13",0,1,1,0\n"2",1,1,0,0\n"13",0,1,0,0\n'


def test_first_value_of_line_is_class(tmp_path):
    write_archive(tmp_path, bangkok=LINES)
    found = load_table({"source": "location30"}, tmp_path, 1)
    assert [found.classes[label] for label in found.labels] == ["13", "02", "13"]
    assert found.names == ("f1", "f3")
    assert found.rows.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert found.notes[1] == "left out, for all rows are the same in them: 'f2', 'f4'"


def test_reads_unpacked_file(tmp_path):
    (tmp_path / "bangkok").write_text(LINES)
    assert len(load_table({"source": "location30"}, tmp_path, 1)) == 3


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": LINES, "b": LINES}, "holds 2 files, not one"),
        ({"bangkok": '"1",0,7\n"2",1,0\n'}, "holds other features than 0 and 1"),
        ({"bangkok": '"1",0,1\n"2",1\n'}, "cannot be read"),
    ],
)
def test_rejects_other_archive(tmp_path, files, message):
    write_archive(tmp_path, **files)
    with pytest.raises(BadInput, match=message):
        load_table({"source": "location30"}, tmp_path, 1)


def test_rejects_truncated_archive(tmp_path):
    write_archive(tmp_path, bangkok=LINES * 50)
    whole = (tmp_path / "dataset_location.tgz").read_bytes()
    (tmp_path / "dataset_location.tgz").write_bytes(whole[:60])
    with pytest.raises(BadInput, match="check that it is complete"):
        load_table({"source": "location30"}, tmp_path, 1)
