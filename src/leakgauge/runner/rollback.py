"""Bad input leaves nothing behind: what a run wrote before its first block is taken back."""

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.runner import manifest
from leakgauge.support import files

PLAN_FILE, AUDITS_FOLDER = "plan.toml", "audits"
_WRITTEN_NAMES = (manifest.NAME, PLAN_FILE, AUDITS_FOLDER, files.LOCK_NAME)  # the lock last


def missing_folders(folder: Path) -> list[Path]:
    """The folders that making this one will make, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def has_any_block(folder: Path) -> bool:
    """Whether a block was ever played into a run folder."""
    return any(folder.glob(f"{AUDITS_FOLDER}/*/*/block-*.npz"))


@contextmanager
def rollback_on_bad_input(folder: Path, before: Collection[str], made: Collection[Path]) -> Iterator[None]:
    """Remove what a run wrote into its folder if bad input stops it before any block was played.

    Names that were there ``before`` stay, and so do folders that were not ``made`` by this run or hold
    something else. Call it only while holding the folder's lock.
    """
    try:
        yield
    except BadInput:
        if not has_any_block(folder):
            files.remove_partial_files(folder)
            for name in _WRITTEN_NAMES:
                if name not in before:
                    _remove(folder / name)
            with suppress(OSError):
                for path in made:
                    path.rmdir()
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
