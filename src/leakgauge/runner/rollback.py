"""Bad input leaves nothing behind: remove what a run wrote before its first block."""

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
    """The folders that will be created together with this one, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def has_any_block(folder: Path) -> bool:
    """Whether a run folder holds any block."""
    return any(folder.glob(f"{AUDITS_FOLDER}/*/*/block-*.npz"))


@contextmanager
def rollback_on_bad_input(folder: Path, before: Collection[str], created: Collection[Path]) -> Iterator[None]:
    """Remove what a run wrote into its folder if bad input stops it before its first block.

    Names that were there ``before`` stay, and so do folders that this run has not ``created`` or that hold
    something else. Call it only while the folder is locked.
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
                for path in created:
                    path.rmdir()
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
