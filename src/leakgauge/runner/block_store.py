"""Finished blocks on disk: they are the whole state of a run."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Reading, Transcript, Trials
from leakgauge.support import files
from leakgauge.support.table_reader import read_dataclass

TRIAL_COLUMNS = {"rounds": "int64", "targets": "int64", "members": "bool", "scores": "float64"}
SPLITS = "splits"  # a column of attackers whose knowledge differs between rounds
_LARGEST = 2**31  # more targets than any audit has
EXTRA_COLUMNS = ("spent", "utility")  # columns by name; each begins with that word and a dot

# What reading damaged bytes may raise, from the archive, its compression or the arrays in it.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    BadInput,
)


@dataclass(frozen=True)
class RoundBlock:
    """A fixed number of consecutive rounds; the last one of an audit may be shorter."""

    index: int
    rounds: range


def split_rounds(n_rounds: int, size: int) -> list[RoundBlock]:
    """Divide rounds into blocks.

    >>> [block.rounds for block in split_rounds(5, 2)]
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [
        RoundBlock(index, range(first, min(first + size, n_rounds)))
        for index, first in enumerate(range(0, n_rounds, size))
    ]


@dataclass(frozen=True)
class BlockStore:
    """The blocks of one contender.

    ``identity`` says whose they are (run, audit, label). It enters the checksum of every file, so that
    a file from elsewhere is never taken for one of these. ``versions`` are those of the libraries that the
    blocks to be saved are run with; they are kept in the header of every file. No target of a block has a
    number of ``n_targets`` or more.
    """

    folder: Path
    identity: str
    versions: Mapping[str, str] = field(default_factory=dict)
    n_targets: int = _LARGEST

    def path(self, block: RoundBlock) -> Path:
        return self.folder / f"block-{block.index:08d}.npz"

    def transcript_path(self, block: RoundBlock) -> Path:
        """Where the transcript of a block is, readable by its owner alone: it may hold personal values."""
        return self.folder / f"transcript-{block.index:08d}.npz"

    def save(self, block: RoundBlock, trials: Trials) -> None:
        """Write a block, and before it its transcript, if it has one."""
        columns = {name: getattr(trials, name) for name in TRIAL_COLUMNS}
        columns |= {
            f"{kind}.{name}": column
            for kind in EXTRA_COLUMNS
            for name, column in sorted(getattr(trials, kind).items())
        }
        if trials.splits is not None:
            columns[SPLITS] = trials.splits
        about = {
            "coins": trials.coins,
            "reading": asdict(trials.reading),
            "repeatable": trials.repeatable,
            "versions": dict(self.versions),
        }
        for transcript in trials.transcripts:
            about["transcript"] = _columns_digest(transcript)
            files.write_file(self.transcript_path(block), _archive(transcript), private=True)
        header = json.dumps(about, sort_keys=True)
        checksum = self._checksum(block, header, columns)
        about_columns = {"header": np.array(header), "checksum": np.array(checksum)}
        files.write_file(self.path(block), _archive(about_columns | columns))

    def load(self, block: RoundBlock) -> Trials | None:
        """Read a block; one that is missing, damaged, foreign or of other rounds is no block.

        Nor is one whose transcript is missing or damaged.
        """
        if (content := self._read(block)) is None:
            return None
        about, columns = content
        transcripts: tuple[Transcript, ...] = ()
        if "transcript" in about:
            if (transcript := self._read_transcript(block, about["transcript"])) is None:
                return None
            transcripts = (transcript,)
        try:
            return Trials(
                **{name: columns[name] for name in TRIAL_COLUMNS},
                coins=Coins(about["coins"]),
                reading=read_dataclass(Reading, about["reading"], "reading"),
                spent=_columns_of_kind(columns, "spent"),
                utility=_columns_of_kind(columns, "utility"),
                splits=columns.get(SPLITS),
                transcripts=transcripts,
                repeatable=bool(about["repeatable"]),
            )
        except _DAMAGE:
            return None

    def versions_of(self, block: RoundBlock) -> dict[str, str] | None:
        """Return the library versions that a block was run with; nothing if there is no such block."""
        content = self._read(block)
        return None if content is None else content[0]["versions"]

    def _read(self, block: RoundBlock) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the header and the columns of a block."""
        try:
            with np.load(io.BytesIO(self.path(block).read_bytes()), allow_pickle=False) as archive:
                columns = {name: archive[name] for name in (*TRIAL_COLUMNS, *_extra_columns(archive))}
                header, checksum = str(archive["header"]), str(archive["checksum"])
                extra = len(archive.files) - len(columns) - 2
            if extra or checksum != self._checksum(block, header, columns) or not self._fits(block, columns):
                return None
            return dict(files.parse_json(header)), columns
        except _DAMAGE:
            return None

    def _fits(self, block: RoundBlock, columns: dict[str, Any]) -> bool:
        """Whether columns hold trials of exactly the rounds of a block, and of targets that there are."""
        for name, column in columns.items():
            is_kind = column.dtype == TRIAL_COLUMNS.get(name, column.dtype) and column.dtype.kind in "biuf"
            if column.ndim != 1 or not is_kind:
                return False
        rounds, targets = np.unique(columns["rounds"]), columns["targets"]
        return (
            0 < rounds.size == len(block.rounds)
            and (rounds[0], rounds[-1]) == (block.rounds[0], block.rounds[-1])
            and 0 <= targets.min() <= targets.max() < self.n_targets
        )

    def _read_transcript(self, block: RoundBlock, digest: str) -> Transcript | None:
        try:
            content = io.BytesIO(self.transcript_path(block).read_bytes())
            with np.load(content, allow_pickle=False) as archive:
                columns = {name: archive[name] for name in archive.files}
        except _DAMAGE:
            return None
        return columns if _columns_digest(columns) == digest else None

    def _checksum(self, block: RoundBlock, header: str, columns: dict[str, Any]) -> str:
        rounds = [block.rounds.start, block.rounds.stop]
        about = [self.identity, block.index, rounds, header, _shapes(columns)]
        return _columns_digest(columns, json.dumps(about))


def _archive(columns: Mapping[str, Any]) -> bytes:
    """The columns as ``numpy.savez_compressed`` writes them, but compressed fast: noise hardly shrinks."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(column), allow_pickle=False)
    return content.getvalue()


def _shapes(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [column.dtype.str, *column.shape] for name, column in columns.items()}


def _columns_digest(columns: Mapping[str, Any], about: str | None = None) -> str:
    """A digest of columns, and of what they are about."""
    digest = sha256((json.dumps(_shapes(columns)) if about is None else about).encode())
    for column in columns.values():
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def _extra_columns(names: Collection[str]) -> list[str]:
    named = [name for kind in EXTRA_COLUMNS for name in sorted(names) if name.startswith(f"{kind}.")]
    return [*named, SPLITS] if SPLITS in names else named


def _columns_of_kind(columns: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name.removeprefix(f"{kind}."): columns[name] for name in columns if name.startswith(f"{kind}.")}
