"""Load functions and values that a plan names as "module:name", and say where in such code an error arose."""

import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from importlib import import_module, invalidate_caches
from inspect import getsourcefile
from os.path import normpath
from pathlib import Path
from types import ModuleType
from typing import Any

from leakgauge.core.errors import BadInput

_LONGEST_ERROR = 300  # characters
_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
REFERENCE = rf"({_NAME}):({_NAME})"


def split_reference(text: str) -> tuple[str, str] | None:
    """Return the two parts of "module:name", which are ASCII identifiers; nothing of any other text.

    >>> split_reference("mine.release:publish"), split_reference("a·b:publish"), split_reference("C:/a")
    (('mine.release', 'publish'), None, None)
    """
    match = re.fullmatch(REFERENCE, text)
    return None if match is None else (match[1], match[2])


code_refused: ContextVar[bool] = ContextVar("code_refused", default=False)


@contextmanager
def no_user_code() -> Iterator[None]:
    """Refuse to load any code within the context, where it is that of somebody else."""
    token = code_refused.set(True)
    try:
        yield
    finally:
        code_refused.reset(token)


@dataclass(frozen=True, eq=False)
class UserCodeLoader:
    """Loads modules of one plan, each once; remembers the text of every file it used."""

    folder: Path
    sources: dict[str, str] = field(default_factory=dict)
    _modules: dict[str, ModuleType] = field(default_factory=dict)

    def load(self, reference: str, where: str) -> Any:
        """Return what "module:name" refers to."""
        if code_refused.get():
            raise BadInput(f"{where}: names code, which is not run here")
        parts = split_reference(reference)
        if parts is None:
            raise BadInput(
                f'{where}: must be written "module:name", a file beside the plan without .py and a name in '
                f"it, both of letters A to Z, digits and _; got {reference!r}"
            )
        module_name, name = parts
        if module_name.endswith(".py"):
            raise BadInput(f'{where}: leave out .py: "{module_name.removesuffix(".py")}:{name}"')
        if module_name not in self._modules:
            self._modules[module_name] = self._module(module_name, where)
        value: Any = self._modules[module_name]
        for part in name.split("."):
            if not hasattr(value, part):
                meant = _near(part, getattr(value, "__dict__", {}))
                raise BadInput(f"{where}: {self._without(module_name, name, meant)}")
            value = getattr(value, part)
        return value

    def _without(self, module: str, name: str, meant: str) -> str:
        """What to say where a module has no such name: whose module it is, and the way out."""
        if any(file.is_file() for file in module_files(self.folder, module)):
            return f"the module {module!r} has no {name!r}; {meant or 'check the spelling'}"
        return (
            f"there is no {module}.py in {self.folder}, and the installed module {module!r} has no {name!r}; "
            f"{self._meant_file(module)}"
        )

    def _meant_file(self, module: str) -> str:
        """What to do about a module that is not beside the plan."""
        files = sorted(path.stem for path in self.folder.glob("*.py"))
        return _near(module, files) or "check the name, or move the file beside the plan"

    def _module(self, name: str, where: str) -> ModuleType:
        for file in module_files(self.folder, name):
            if file.is_file():
                return self._from_file(file, where)
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise BadInput(
                    f"{where}: importing {name!r} raised {error_with_location(error)}{_install_hint(error)}"
                ) from error
            raise BadInput(
                f"{where}: there is no {name}.py in {self.folder} and no installed module {name!r}; "
                f"{self._meant_file(name)}"
            ) from None
        except (Exception, SystemExit) as error:
            raise BadInput(f"{where}: importing {name!r} raised {error_with_location(error)}") from error
        file_name = getsourcefile(module) if getattr(module, "__file__", None) else None
        self._remember(name, Path(file_name) if file_name else None)
        return module

    def _from_file(self, file: Path, where: str) -> ModuleType:
        """Run a file of the plan's folder; workers get its functions by value, so they need no path to it."""
        import cloudpickle

        source = file.read_bytes()
        module = ModuleType(f"leakgauge_plan_{sha256(bytes(file.resolve()) + source).hexdigest()[:16]}")
        module.__file__ = str(file)
        self._remember(file.relative_to(self.folder).as_posix(), file)
        sys.modules[module.__name__] = module
        cloudpickle.register_pickle_by_value(module)
        try:
            with _importable_folder(self.folder) as imported:
                exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)
        except SyntaxError as error:
            raise BadInput(f"{where}: {error.filename or file}, line {error.lineno}: {error.msg}") from error
        except (Exception, SystemExit) as error:
            raise BadInput(
                f"{where}: running {file} raised {error_with_location(error)}{self._import_hint(error)}"
            ) from error
        for name, path in imported.items():
            self._remember(name, path)
        return module

    def _import_hint(self, error: BaseException) -> str:
        """What to do about an import in the user's code that failed."""
        name = error.name if isinstance(error, ImportError) else None
        if (
            name
            and not isinstance(error, ModuleNotFoundError)
            and module_files(self.folder, name)[0].is_file()
        ):
            return f"; {name}.py beside the plan is hidden by the installed module {name!r}: rename the file"
        return _install_hint(error)

    def _remember(self, name: str, file: Path | None) -> None:
        self.sources[name] = file.read_text("utf-8", "surrogateescape") if file else ""


def _near(name: str, known: Iterable[str]) -> str:
    """A question for the nearest name that is known; nothing where none is near."""
    near = get_close_matches(name, [one for one in known if not one.startswith("_")], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _install_hint(error: BaseException) -> str:
    """What to do about a library of the user's code that is not installed."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    return f"; install {error.name.partition('.')[0]}, or run leakgauge in the environment of that code"


@contextmanager
def _importable_folder(folder: Path) -> Iterator[dict[str, Path]]:
    """Make the modules of a folder importable within the context; yield those that were imported.

    They are removed from ``sys.modules`` afterwards, so that another plan does not find them there; functions
    that use them keep a reference, and they are sent to workers by value.
    """
    import cloudpickle

    imported: dict[str, Path] = {}
    before = dict(sys.modules)
    for name in _modules_of_folder(folder):
        del sys.modules[name]
    no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(folder))
    invalidate_caches()
    try:
        yield imported
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = no_bytecode
        for name, file in _modules_of_folder(folder).items():
            imported[name] = file
            cloudpickle.register_pickle_by_value(sys.modules[name])
            del sys.modules[name]
        sys.modules.update({name: module for name, module in before.items() if name not in sys.modules})


def _modules_of_folder(folder: Path) -> dict[str, Path]:
    """Return the known modules that are files of a folder and would be imported from it by their names."""
    known = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    inside = {name: file for name, file in known.items() if file and normpath(file).startswith(str(folder))}
    return {name: Path(file) for name, file in inside.items() if Path(file) in module_files(folder, name)}


def module_files(folder: Path, module: str) -> tuple[Path, Path]:
    """Where the source of a module of a folder may be: a file, or a package."""
    stem = folder.joinpath(*module.split("."))
    return stem.with_name(f"{stem.name}.py"), stem / "__init__.py"


def error_with_location(error: BaseException) -> str:
    """An error that the user's code raised, in one line, with the file and line of that code.

    The place is the last one in code that is neither leakgauge nor an installed package, because an error
    that a library raises is fixed where the library was called. Without such a place it is where a package
    was entered. The error must have been caught: its traceback begins at the ``try``.
    """
    text = " ".join(str(error).split())[:_LONGEST_ERROR] or "(no message)"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_ours(frame.filename)]
    user_frames = [frame for frame in frames if not is_installed(frame.filename)]
    frame = user_frames[-1] if user_frames else frames[0] if frames else None
    place = "" if frame is None else f" ({short_path(frame.filename)}, line {frame.lineno})"
    return f"{type(error).__name__}: {text}{place}"


def is_ours(file: str) -> bool:
    """Whether a file belongs to leakgauge."""
    return Path(file).is_relative_to(Path(__file__).parents[1])


def is_installed(file: str) -> bool:
    """Whether a file belongs to Python or to an installed package, or is code that these compiled."""
    if file.startswith(("<frozen", "<__array_function__")) or file.endswith((".pyx", ".pxd", ".pxi")):
        return True
    path, python = Path(file), sysconfig.get_paths()
    return bool({"site-packages", "dist-packages"} & set(path.parts)) or any(
        path.is_relative_to(python[name]) for name in ("stdlib", "platstdlib")
    )


def short_path(file: str) -> str:
    """A path relative to the current folder where the file is inside of it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
