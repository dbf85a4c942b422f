"""The line of the user's own code in which an exception was raised."""

import site
import sysconfig
from pathlib import Path
from traceback import extract_tb

_PACKAGE = Path(__file__).resolve().parent.parent
_INSTALLED = tuple(
    Path(folder).resolve()
    for folder in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
)


def user_code_location(error: BaseException) -> str:
    """Return "file, line n" of the last line outside leakgauge and installed packages; "" if there is none.

    A user's mistake often raises deep inside a library; the line that called the library is theirs. Where all
    lines are of installed packages, the last of them is returned.
    """
    foreign = [frame for frame in extract_tb(error.__traceback__) if not _below(frame.filename, (_PACKAGE,))]
    own = [frame for frame in foreign if not _is_installed(frame.filename)]
    if not foreign:
        return ""
    frame = (own or foreign)[-1]
    return f"{frame.filename}, line {frame.lineno}"


def _is_installed(filename: str) -> bool:
    """Whether a file belongs to Python or an installed package; that of compiled code does not exist."""
    if filename.startswith("<"):  # typed at a prompt, unless it is frozen into Python
        return filename.startswith("<frozen ")
    return _below(filename, _INSTALLED) or not (Path(filename).is_absolute() or Path(filename).exists())


def _below(filename: str, folders: tuple[Path, ...]) -> bool:
    path = Path(filename).resolve()
    return any(path.is_relative_to(folder) for folder in folders)
