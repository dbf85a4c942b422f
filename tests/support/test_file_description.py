import gzip

import pytest

from leakgauge import draft
from leakgauge.core.errors import BadInput
from leakgauge.support.file_description import describe_file, name_parts
from leakgauge.support.tabular import refuse_title


def test_columns_have_types_ranges_distinct_values_and_gaps(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(
        "user,when,lat,ok,n\na,2024-05-06 10:00:00,45.5,true,1\na,2024-05-07 10:00:00,,false,3\n"
        "b,2024-05-06 11:00:00,44.5,true,2\n"
    )
    file = describe_file(path)
    assert file.n_rows == 3
    assert {column.name: column.kind for column in file.columns} == {
        "user": "text",
        "when": "time",
        "lat": "real",
        "ok": "truth",
        "n": "whole",
    }
    assert file.column("user").n_distinct == 2
    lat = file.column("lat")
    assert (lat.low, lat.high, lat.n_missing) == (44.5, 45.5, 1)
    when = file.column("when")
    assert when.high - when.low == 86_400
    assert when.low == 1714989600.0  # 2024-05-06 10:00 UTC


def test_a_packed_file_is_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n1;x\n2;y\n"))
    assert describe_file(path).names == ["a", "b"]


@pytest.mark.parametrize(
    ("column", "words", "found"),
    [
        ("user_id", ("user",), True),
        ("userId", ("user",), True),
        ("USER", ("user",), True),
        ("username", ("user",), False),
        ("latitude", ("lat", "latitude"), True),
        ("platform", ("lat",), False),
    ],
)
def test_a_column_is_found_by_whole_words_of_its_name(tmp_path, column, words, found):
    path = tmp_path / "t.csv"
    path.write_text(f"{column},other\n1,2\n")
    assert (describe_file(path).find(words) is not None) == found


def test_the_first_word_that_fits_a_whole_name_wins(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("user_time,time,date\n1,2,3\n")
    assert describe_file(path).find(("time",)).name == "time"


def test_names_are_divided_at_bars_blanks_and_capitals():
    assert name_parts("startStation ID") == ["start", "station", "id"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "there is no such file; check the path"),
        ("empty.csv", "", "is empty; a table has column names and at least one row"),
        ("header.csv", "a,b\n", "has column names and no row"),
        (
            "photo.jpg",
            "x",
            "'photo.jpg' has an unknown ending; known: .npz, .py, .onnx, .jsonl, .ndjson, .csv",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput, match=message) as caught:
        describe_file(path)
    assert "\n" not in str(caught.value)


def test_a_description_holds_no_text_of_the_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\nAda Lovelace,36\nAlan Turing,41\n")
    assert "Ada" not in repr(describe_file(path))


def test_times_with_a_zone_are_described(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("user,time\n1,2026-03-14T04:03:00Z\n2,2026-03-14T06:03:00+01:00\n")
    (time,) = (column for column in describe_file(file).columns if column.name == "time")
    assert time.zoned
    assert time.high - time.low == 3600


def described(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    return describe_file(path)


@pytest.mark.parametrize(
    ("text", "decimal", "kind"),
    [
        ("a;b\n48,15;x\n47,1;y\n", ",", "real"),
        ("a;b\n48,150;0,5\n47,100;0,25\n", ",", "real"),  # the other column tells
        ("a;b\n12,100;0.50\n13,200;0.75\n", ".", "text"),
        ("a;b\n12,100;1,234,567\n13,200;2,345\n", ".", "text"),
        ("a;b\n48,15;14.05\n47,1;9.30\n", ",", "real"),  # times of day
        ("a;b\n48,15;12.100\n47,1;1.234.500\n", ",", "real"),  # thousands
        ("a\tb\n1,234\tx\n2,345\ty\n", ".", "text"),  # may be thousands
        ("a\tb\n1,234\tx\n0,345\ty\n", ",", "real"),
        ('a,b\n"48,15",x\n"47,1",y\n', ",", "real"),
        ("a;b\n48,15;x\nfive;y\n", ".", "text"),
        ("a;b;c\n48,15;x;0,5\n47,1;n/a;NA\n", ",", "real"),
        ("c;a\n0,5;2\n-;3\n", ",", "whole"),  # a word that means a missing value
        ("a;b\n48.15;1,2 and 3\n47.1;4\n", ".", "real"),
    ],
)
def test_decimal_commas_are_seen_where_they_cannot_be_thousands(tmp_path, text, decimal, kind):
    file = described(tmp_path, text)
    assert file.text.decimal == decimal
    assert file.column("a").kind == kind


@pytest.mark.parametrize("text", ["a;b\n48,150;x\n47,100;y\n", "a;b\n48,15;0.5\n47,1;0.75\n"])
def test_commas_that_may_be_between_thousands_are_asked_for(tmp_path, text):
    with pytest.raises(BadInput, match=r"may be before decimals or between thousands; say it with --decimal"):
        described(tmp_path, text)
    path = tmp_path / "t.csv"
    assert describe_file(path, decimal=",").column("a").kind == "real"
    assert describe_file(path, decimal=".").column("a").kind == "text"
    asked = draft.open_file(path, None, prompt=lambda question: next(iter(question.choices)))
    assert asked.text.decimal == ","


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_letters_are_read_in_the_encoding_of_the_file(tmp_path, encoding):
    file = described(tmp_path, "Stra\u00dfe;Ort\n1;K\u00f6ln\n2;M\u00fcnchen\n", encoding)
    assert file.names == ["Stra\u00dfe", "Ort"]
    assert file.text.encoding == {"utf-8-sig": "utf-8"}.get(encoding, encoding)


def test_a_letter_far_below_decides_the_encoding(tmp_path):
    rows = "".join(f"{i};abc\n" for i in range(20_000))
    assert described(tmp_path, f"a;b\n{rows}1;\u00e9\n", "latin-1").text.encoding == "latin-1"


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        (["31.05.2024", "01.06.2024"], ("%d.%m.%Y",)),
        (["31/05/24 10:00", "01/06/24 11:30"], ("%d/%m/%y %H:%M",)),
        (["05/31/2024", "06/01/2024"], ("%m/%d/%Y",)),
        (["05/06/2024", "06/01/2024"], ("%d/%m/%Y", "%m/%d/%Y")),
        (["2024-05-31", "2024-06-01"], ()),
        (["1.5", "2.5"], ()),
        (["20240531", "20240601"], ("%Y%m%d",)),
        (["20249931", "20240601"], ()),
    ],
)
def test_the_forms_of_dates_are_found(tmp_path, values, formats):
    file = described(tmp_path, "a;b\n" + "".join(f"{value};{i}\n" for i, value in enumerate(values)))
    assert file.column("a").time_formats == formats


def test_the_first_line_must_name_the_columns(tmp_path):
    with pytest.raises(BadInput, match="the first line holds values, not names of columns"):
        described(tmp_path, "3,2024-05-01,48.1\n4,2024-05-02,48.2\n")
    with pytest.raises(BadInput, match="the first line names 1 of 4 columns; delete the lines above"):
        described(tmp_path, "Export;;;\n1;2;3;4\n5;6;7;8\n")
    assert described(tmp_path, ",0,1\n5,6,7\n").n_rows == 1  # numbers of columns are names


@pytest.mark.parametrize(
    ("title", "line"),
    [("Export of 2024", 2), ("Export, of 2024", 2), ("Export of 2024,,,", 2), ("Export\nof 2024\n", 4)],
)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_title_above_the_names_is_recognised_with_the_line_of_the_names(tmp_path, title, line, delimiter):
    table = "a,b,c,d\n1,2,3,4\n5,6,7,8\n".replace(",", delimiter)
    with pytest.raises(BadInput) as refusal:
        described(tmp_path, f"{title}\n{table}")
    message = str(refusal.value)
    assert f"if it is a title, delete all lines above line {line}, so that" in message
    assert message.count("t.csv") == 1
    assert described(tmp_path, table).n_rows == 2


def test_texts_with_other_delimiters_are_no_tables_below_a_title(tmp_path):
    assert described(tmp_path, "a,note\n1,x; y\n2,z; w\n").names == ["a", "note"]
    lists = "genres\nAction|Comedy|Drama\nCrime|Drama|War\nComedy|War|Western\n"
    assert described(tmp_path, lists).names == ["genres"]


def test_a_first_line_with_most_names_empty_is_no_title(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",,label\nred,small,x\nblue,large,y\n")
    refuse_title(path, str(path))


def test_a_row_with_too_few_values_is_named_by_its_line_and_the_file_once(tmp_path):
    with pytest.raises(BadInput) as refusal:
        described(tmp_path, "a,b,c\n1,2,3\n4,5\n")
    assert "cannot be read: the row that ends in line 3 has more or fewer values" in str(refusal.value)
    assert str(refusal.value).count("t.csv") == 1
