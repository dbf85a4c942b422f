import io
import stat
import zipfile
from hashlib import sha256

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.runner import bundle_zip
from leakgauge.runner.bundle_zip import read_zip, write_zip

MEMBERS = {"b/one.json": b"{}", "a.txt": b"text" * 100}


def made(path, entries):
    """A zip file of these entries with a list of hashes that fits."""
    sums = "".join(
        f"{sha256(content).hexdigest()}  {entry.filename if isinstance(entry, zipfile.ZipInfo) else entry}\n"
        for entry, content in entries
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in [*entries, (bundle_zip.HASHES, sums.encode())]:
            archive.writestr(entry, content)
    return path


def link(name):
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return entry


def test_content_comes_back_and_gives_the_same_bytes_in_any_order(tmp_path):
    first = write_zip(MEMBERS, tmp_path / "one.zip")
    second = write_zip(dict(reversed(MEMBERS.items())), tmp_path / "two.zip")
    assert first == second == sha256((tmp_path / "two.zip").read_bytes()).hexdigest()
    assert read_zip(tmp_path / "one.zip") == MEMBERS


def test_hashes_are_those_that_sha256sum_checks(tmp_path):
    write_zip(MEMBERS, tmp_path / "one.zip")
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        lines = archive.read(bundle_zip.HASHES).decode().splitlines()
    assert lines == [f"{sha256(MEMBERS[name]).hexdigest()}  {name}" for name in sorted(MEMBERS)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../evil.txt", "unsafe name"),
        ("a/../../evil.txt", "unsafe name"),
        ("/etc/evil.txt", "unsafe name"),
        ("C:evil.txt", "unsafe name"),
        ("a\\evil.txt", "unsafe name"),
        ("folder/", "unsafe name"),
        ("a//b.txt", "unsafe name"),
        (link("a.txt"), "is a link"),
    ],
    ids=str,
)
def test_unsafe_members_are_refused(tmp_path, name, words):
    with pytest.raises(BadInput, match=words):
        read_zip(made(tmp_path / "x.zip", [(name, b"x")]))


def test_repeated_names_are_refused(tmp_path):
    with pytest.raises(BadInput, match="two files of the same name"):
        read_zip(made(tmp_path / "x.zip", [("a.txt", b"x"), ("A.txt", b"x")]))


@pytest.mark.parametrize("limit", ["MOST_BYTES_PER_FILE", "MOST_BYTES", "MOST_FILES"])
def test_bombs_are_refused_before_they_are_unpacked(tmp_path, monkeypatch, limit):
    path = made(tmp_path / "x.zip", [("a.txt", bytes(10_000)), ("b.txt", bytes(10_000))])
    monkeypatch.setattr(bundle_zip, limit, 2)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(BadInput, match="no bundle"):
        read_zip(path)


def test_arrays_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scores.npy", bytes(100_000))
    path = made(tmp_path / "x.zip", [("a.npz", inner.getvalue())])
    assert set(read_zip(path)) == {"a.npz"}
    monkeypatch.setattr(bundle_zip, "MOST_BYTES_PER_FILE", 50_000)
    with pytest.raises(BadInput, match="too much memory"):
        read_zip(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all", bytes(1000)])
def test_files_that_are_no_zip_are_refused(tmp_path, content):
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(BadInput, match=r"x\.zip: damaged, or not a zip file; ask for"):
        read_zip(tmp_path / "x.zip")


def test_every_truncated_file_is_refused(tmp_path):
    write_zip(MEMBERS, tmp_path / "one.zip")
    whole = (tmp_path / "one.zip").read_bytes()
    for size in range(0, len(whole), 7):
        (tmp_path / "x.zip").write_bytes(whole[:size])
        with pytest.raises(BadInput):
            read_zip(tmp_path / "x.zip")


def test_no_flipped_bit_gives_other_content(tmp_path):
    write_zip(MEMBERS, tmp_path / "one.zip")
    whole = (tmp_path / "one.zip").read_bytes()
    for place in range(0, len(whole), 3):
        (tmp_path / "x.zip").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert read_zip(tmp_path / "x.zip") == MEMBERS  # a date or a mode
        except BadInput:
            continue


def test_folders_and_missing_files_are_named(tmp_path):
    with pytest.raises(BadInput, match="a folder"):
        read_zip(tmp_path)
    with pytest.raises(BadInput, match="no such file"):
        read_zip(tmp_path / "nowhere.zip")
