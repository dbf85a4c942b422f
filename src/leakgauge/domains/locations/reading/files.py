"""The files that a plan names, and a name for what is in them."""

from hashlib import file_digest, sha256
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading.table import Published

KINDS = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "geojson": (".geojson", ".geojson.gz", ".json", ".json.gz"),
}


def find(source: str, folder: Path, published: Published | None, where: str) -> tuple[Path, ...]:
    """The files behind ``source``: one, those that match a pattern with ``*``, or a folder of cabs."""
    path = folder / source
    if published is Published.CABSPOTTING:
        return _cabs(path, where)
    if "*" in source and not path.exists():
        found = tuple(sorted(file for file in path.parent.glob(path.name) if file.is_file()))
        if not found:
            raise BadInput(f"{where}: no file matches {source!r} in {folder}; check the pattern")
    elif path.is_dir():
        raise BadInput(f'{where}: {source!r} is a folder; name a file in it, or several as "{source}/*.csv"')
    elif not path.is_file():
        raise BadInput(f"{where}: there is no file {source!r} in {folder}; check the path")
    else:
        found = (path,)
    for file in found:
        if file.stat().st_size == 0:
            raise BadInput(f"{where}: {file.name} is empty; a file of visits has at least one row")
    return found


def kind_of(files: tuple[Path, ...], where: str) -> str:
    """How files are to be read, by the ends of their names."""
    kinds = {_kind(file, where) for file in files}
    if len(kinds) > 1:
        raise BadInput(
            f"{where}: files of different kinds ({', '.join(sorted(kinds))}); name those of one kind"
        )
    return kinds.pop()


def digest_of(files: tuple[Path, ...], *settings: str) -> str:
    """Hash what is in the files and how it is read; where the files lie does not matter."""
    hashed = sha256()
    for text in settings:
        hashed.update(f"{len(text.encode())}:{text}".encode())
    for file in files:
        with file.open("rb") as content:
            hashed.update(file_digest(content, "sha256").digest())
    return hashed.hexdigest()


def _kind(file: Path, where: str) -> str:
    for kind, ends in KINDS.items():
        if file.name.lower().endswith(ends):
            return kind
    known = ", ".join(end for ends in KINDS.values() for end in ends)
    raise BadInput(f"{where}: {file.name!r} has an unknown ending; known: {known}")


def _cabs(path: Path, where: str) -> tuple[Path, ...]:
    if not path.is_dir():
        raise BadInput(f'{where}: {str(path)!r} is no folder; "cabspotting" is a folder with files new_*.txt')
    found = tuple(sorted(path.glob("new_*.txt")))
    if not found:
        raise BadInput(f"{where}: no file new_*.txt in {path}; unpack the data set there")
    return found
