"""A zip file with the SHA-256 hash of every file in it: the same content gives the same bytes."""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from leakgauge.core.errors import BadInput
from leakgauge.support import files

HASHES = "SHA256SUMS"
MOST_FILES = 50_000
MOST_BYTES_PER_FILE = 512 * 2**20
MOST_BYTES = 4 * 2**30  # unpacked, all files together, and also all arrays in them
_DATE = (1980, 1, 1, 0, 0, 0)
_NAME = re.compile(r"(?!/)(?!.*//)[^\\:\x00-\x1f]+(?<!/)")
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_ASK_AGAIN = "ask for the bundle again"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


def write_zip(members: Mapping[str, bytes], path: Path) -> str:
    """Write files and their hashes into a zip file; return the SHA-256 hash of that."""
    sums = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in sorted(members.items()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted({**members, HASHES: sums.encode()}.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            packed = name.endswith(".npz")  # compressed already
            entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    files.write_file(path, buffer.getvalue())
    return sha256(buffer.getvalue()).hexdigest()


def read_zip(path: Path) -> dict[str, bytes]:
    """Read a zip file in memory and check every hash; nothing is unpacked from one that is not a bundle."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _refuse_unsafe(path, entries)
            _refuse_hidden_bytes(path, archive)
            members = {entry.filename: archive.read(entry) for entry in entries}
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: a folder; name the zip file that leakgauge bundle wrote") from None
    except PermissionError:
        raise BadInput(f"{path}: cannot be read; check its permissions") from None
    except _DAMAGE:
        _refuse(path, "damaged, or not a zip file")
    _check_hashes(path, members)
    _refuse_large_arrays(path, members)
    return members


def _refuse(path: Path, problem: str) -> NoReturn:
    raise BadInput(f"{path}: {problem}; {_ASK_AGAIN}")


def _refuse_unsafe(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Refuse names that leave the folder, links, folders, repeated names, passwords and bombs."""
    if len(entries) > MOST_FILES:
        _refuse(path, f"has more than {MOST_FILES:,} files, so it is no bundle")
    names = [entry.filename for entry in entries]
    if len({name.casefold() for name in names}) < len(names):
        _refuse(path, "has two files of the same name, so it is no bundle")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        name = entry.orig_filename
        if not _NAME.fullmatch(name) or {"..", "."} & set(name.split("/")) or name != entry.filename:
            _refuse(path, f"has a file with the unsafe name {name[:80]!r}, so it is no bundle")
        if kind not in (0, stat.S_IFREG):
            _refuse(path, f"{name!r} is a link or no plain file, so it is no bundle")
        if entry.flag_bits & 1:
            _refuse(path, f"{name!r} has a password, so it is no bundle")
        if entry.file_size > MOST_BYTES_PER_FILE:
            _refuse(path, f"{name!r} would unpack to {entry.file_size / 2**20:,.0f} MB, so it is no bundle")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        _refuse(path, f"would unpack to more than {MOST_BYTES / 2**30:.0f} GB, so it is no bundle")


def _refuse_hidden_bytes(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse bytes that belong to no file, in which other programs may find other files."""
    place = 0
    with path.open("rb") as file:
        for entry in archive.infolist():
            header = entry.FileHeader()
            file.seek(place)
            if (
                entry.header_offset != place
                or file.read(len(header)) != header
                or entry.extra
                or entry.comment
            ):
                _refuse(path, f"has bytes before or beside {entry.filename!r}, so it is no bundle")
            place += len(header) + entry.compress_size
    if place != archive.start_dir or archive.comment:
        _refuse(path, "has bytes that belong to no file in it, so it is no bundle")


def _check_hashes(path: Path, members: dict[str, bytes]) -> None:
    """Compare every file with its hash; none may be missing, none may be added."""
    if HASHES not in members:
        _refuse(path, f"has no {HASHES}, so it is not a bundle of leakgauge")
    lines = members.pop(HASHES).decode(errors="replace").removesuffix("\n").split("\n")
    pairs = [_LINE.fullmatch(line) for line in lines]
    sums = {pair[2]: pair[1] for pair in pairs if pair is not None}
    if len(sums) < len(lines):
        _refuse(path, f"{HASHES} is damaged")
    for name in sorted({*sums, *members}):
        if name not in members:
            _refuse(path, f"{name} is missing from it")
        if name not in sums:
            _refuse(path, f"{name} was added to it: {HASHES} does not list it")
        if sha256(members[name]).hexdigest() != sums[name]:
            _refuse(path, f"{name} was changed: its hash is not the one in {HASHES}")


def _refuse_large_arrays(path: Path, members: Mapping[str, bytes]) -> None:
    """Refuse blocks of trials that would unpack to more than fits into memory."""
    total = 0
    for name, content in members.items():
        if not name.endswith(".npz"):
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
        except _DAMAGE:
            _refuse(path, f"{name} is damaged")
        total += size
        if size > MOST_BYTES_PER_FILE or total > MOST_BYTES:
            _refuse(path, f"{name} would unpack to too much memory, so it is no bundle")
