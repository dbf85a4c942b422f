"""Remove what a run wrote: before its first block if the input was bad, or all of it to start over."""

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leakgauge.core.errors import ANOTHER_OUT, BadInput
from leakgauge.runner import manifest
from leakgauge.support import files

PLAN_FILE, AUDITS_FOLDER, CONTROLS_FOLDER = "plan.toml", "audits", "controls"
VERDICTS_FILE, EXPOSURE_FILE = "verdicts.json", "exposure.json"
_WRITTEN_NAMES = (
    manifest.NAME,
    PLAN_FILE,
    AUDITS_FOLDER,
    CONTROLS_FOLDER,
    *files.LOCK_NAMES,
)  # the lock last
CONFORMANCE_FILE = "conformance.json"  # of a bundle, or where a plan names code: what transcripts showed
EXPOSURE_FILES = {f"exposure.{style}" for style in ("csv", "json", "html")}
_RESULT_FILES = (
    VERDICTS_FILE,
    CONFORMANCE_FILE,
    *(f"report.{style}" for style in ("html", "md", "csv", "json")),
    *EXPOSURE_FILES,
)


def missing_folders(folder: Path) -> list[Path]:
    """The folders that will be created together with this one, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def has_any_block(folder: Path) -> bool:
    """Whether a run folder holds any block."""
    return any(_blocks(folder))


def remove_run(folder: Path) -> None:
    """Remove the results and the blocks of a run, and nothing else; call it while holding the folder's lock.

    Results go first and the manifest stays: if this is interrupted, what is left is the same run with fewer
    blocks.
    """
    try:
        for name in _RESULT_FILES:
            (folder / name).unlink(missing_ok=True)
        for path in [*_blocks(folder), *folder.glob(f"{CONTROLS_FOLDER}/*/*")]:
            path.unlink()
    except OSError as error:
        raise BadInput(f"{folder}: cannot be cleared ({error.strerror}); {ANOTHER_OUT}") from None
    written = (path for name in (AUDITS_FOLDER, CONTROLS_FOLDER) for path in folder.glob(f"{name}/**/"))
    for path in sorted(written, reverse=True):
        with suppress(OSError):  # it holds something that is not of a run
            path.rmdir()


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


def _blocks(folder: Path) -> Iterator[Path]:
    return folder.glob(f"{AUDITS_FOLDER}/*/*/block-*.npz")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(PermissionError):  # Windows keeps a lock file while it is held
        path.unlink(missing_ok=True)
