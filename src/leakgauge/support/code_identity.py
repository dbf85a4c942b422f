"""A digest of the user's code, by which trainings are recognised again.

Functions and classes count with the values that they use now: the globals of their modules, which a program
may change after it imported them, as well as defaults and closures.
"""

import sys
from collections.abc import Iterator, Mapping
from dis import get_instructions
from functools import _lru_cache_wrapper
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec, resolve_name
from io import BytesIO
from operator import is_
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import cloudpickle

from leakgauge.support.user_code import is_installed, is_ours

_NOT_COMPARED = (
    *("__dict__", "__weakref__", "__module__", "__doc__", "_abc_impl", "__abstractmethods__", "__builtins__"),
    *("__name__", "__package__", "__loader__", "__spec__", "__file__", "__cached__", "__path__"),
)


def code_identity(value: Any, sources: Mapping[str, str] | None = None) -> str | None:
    """A digest of a function or an object with the code behind it; nothing where it cannot be packed.

    ``sources`` are the texts of its files where they are known. Otherwise all files of loaded modules count
    that belong to no installed package: a change in any of them gives another digest.
    """
    texts = _loaded_user_sources() if sources is None else sources
    packed = BytesIO()
    try:
        _CodePickler(packed).dump(value)
    except Exception:  # whatever an object of the user raises
        return None
    digest = sha256()
    for part in _pickle_parts(packed.getvalue()):
        digest.update(f"{part!r}\n".encode(errors="surrogatepass"))
    for name, text in sorted(texts.items()):
        digest.update(f"\n{name}\n{text}".encode(errors="surrogatepass"))
    return digest.hexdigest()


class _CodePickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Packs functions and classes of the user by what decides their results; nothing is ever unpacked.

    Other picklers refer to an imported function by its name, whatever the globals of its module are by now,
    and number classes at random.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, CodeType):
            return _named, ("code", obj.co_name), _code_parts(obj)
        if isinstance(obj, FunctionType) and _is_users(obj.__globals__.get("__file__"), obj.__module__):
            return _named, ("function", obj.__qualname__), _function_parts(obj)
        if isinstance(obj, _lru_cache_wrapper):
            return _named, ("cached function", obj.__qualname__), obj.__wrapped__
        if isinstance(obj, type) and _is_users_module(obj.__module__):
            return _named, ("class", obj.__qualname__), (obj.__bases__, _own_values(obj))
        if isinstance(obj, ModuleType) and _is_users(getattr(obj, "__file__", None), obj.__name__):
            return _named, ("module", Path(obj.__file__ or "").name), _own_values(obj)
        return super().reducer_override(obj)


def _named(kind: str, name: str) -> None:
    """Stands for code in a pickle."""


def _code_parts(code: CodeType) -> tuple[Any, ...]:
    """What decides what code does, without the file and the lines that it comes from."""
    constants = [
        sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
        for constant in code.co_consts
    ]
    variables = code.co_varnames, code.co_freevars, code.co_cellvars
    n_arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    handlers = code.co_exceptiontable  # which instructions stand in a "try"
    return code.co_code, code.co_names, constants, variables, n_arguments, code.co_flags, handlers


def _function_parts(function: FunctionType) -> tuple[Any, ...]:
    values = (
        function.__defaults__,
        function.__kwdefaults__,
        [_cell_value(cell) for cell in function.__closure__ or ()],
        dict(vars(function)),
        _values_used(function),
    )
    return function.__code__, _in_order(values)


def _cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return "empty cell"


def _values_used(function: FunctionType) -> dict[str, Any]:
    """The globals that a function names, and of modules of the user those of their values that it names.

    A name may be that of an attribute, or a text as in ``getattr(settings, "epochs")``. What the function
    imports of the user's files when it is called is imported here, because its values count as well.
    """
    names, used, waiting = _names_in(function.__code__), dict[str, Any](), list[tuple[str, ModuleType]]()
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    imported = {name: sys.modules[name] for name in names if name in sys.modules and name not in found}
    imported |= _modules_imported_inside(function)
    for path, value in [*found.items(), *imported.items()]:
        if isinstance(value, ModuleType):
            waiting.append((path, value))
        else:
            used[path] = value
    seen: set[str] = set()
    while waiting:
        path, module = waiting.pop()
        if module.__name__ in seen or not _is_users(getattr(module, "__file__", None), module.__name__):
            continue
        seen.add(module.__name__)
        for name in names:
            if name in vars(module) and isinstance(value := vars(module)[name], ModuleType):
                waiting.append((f"{path}.{name}", value))
            elif name in vars(module):
                used[f"{path}.{name}"] = value
    return dict(sorted(used.items()))


def _names_in(code: CodeType) -> list[str]:
    """Names and texts in code and in the functions inside of it."""
    names, waiting = set[str](), [code]
    while waiting:
        one = waiting.pop()
        names |= {*one.co_names, *(text for text in one.co_consts if isinstance(text, str))}
        waiting += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
    return sorted(names)


def _modules_imported_inside(function: FunctionType) -> dict[str, ModuleType]:
    """Import those modules of the user that the function itself imports, and return them by name."""
    waiting, package = [function.__code__], function.__globals__.get("__package__") or None
    imported: dict[str, ModuleType] = {}
    while waiting:
        code = waiting.pop()
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        before: list[Any] = [0, None]  # the last two are how far up a relative import begins, and its names
        for instruction in get_instructions(code):
            if instruction.opname == "IMPORT_NAME" and (package or not before[-2]):
                module = resolve_name("." * before[-2] + instruction.argval, package)
                within = (f"{module}.{name}" for name in before[-1] or () if name != "*")
                files = (name for name in (module, *within) if name in sys.modules or _is_users_file(name))
                imported |= {name: import_module(name) for name in files}
            before.append(instruction.argval)
    return imported


def _is_users_file(module: str) -> bool:
    """Whether a module that is not loaded yet is a file of the user."""
    top = sys.modules.get(module.partition(".")[0])
    if top is not None and not _is_users(getattr(top, "__file__", None), top.__name__):
        return False
    try:
        found = find_spec(module)
    except (ImportError, ValueError):
        return False
    return found is not None and found.origin is not None and _is_users(found.origin, module)


def _own_values(owner: Any) -> Any:
    """What stands in a class or a module, but for what Python adds."""
    values = {
        name: value
        for name, value in vars(owner).items()
        if name not in _NOT_COMPARED and not isinstance(value, MemberDescriptorType | GetSetDescriptorType)
    }
    return _in_order(values)


def _in_order(value: Any) -> Any:
    """The same value with sets of plain values in an order that does not depend on the process."""
    match value:
        case set() | frozenset() if all(isinstance(part, str | bytes | int | float) for part in value):
            return "set", sorted(map(repr, value))
        case dict() if type(value) is dict:
            parts = {key: _in_order(part) for key, part in value.items()}
            return value if all(parts[key] is value[key] for key in value) else parts
        case list() | tuple() if type(value) in (list, tuple):
            ordered = [_in_order(part) for part in value]
            return value if all(map(is_, ordered, value)) else type(value)(ordered)
    return value


def _is_users_module(name: str) -> bool:
    module = sys.modules.get(name)
    return _is_users(getattr(module, "__file__", None), name)


def _is_users(file: str | None, module: str) -> bool:
    """Whether a module is code of the user: a program, a notebook, a file of a plan, their own package."""
    if file is None:
        return module == "__main__" or module not in sys.modules
    return not is_ours(file) and not is_installed(file)


def _pickle_parts(packed: bytes) -> Iterator[tuple[str, Any]]:
    """The operations of a pickle, whether equal texts are one object or several.

    A pickle refers back to a text that it holds already; Python decides anew in each process, and for each
    import of the same file, which equal texts are one object.
    """
    from pickletools import genops

    memo: list[tuple[str, Any]] = []
    part: tuple[str, Any] = ("", None)
    n_objects = 0
    for operation, argument, _ in genops(packed):
        match operation.name:
            case "FRAME":  # its length depends on how often texts are repeated
                continue
            case "MEMOIZE":
                if not isinstance(part[1], str | bytes):
                    part, n_objects = ("OBJECT", n_objects), n_objects + 1
                memo.append(part)
                continue
            case "BINGET" | "LONG_BINGET" if isinstance(argument, int):
                part = memo[argument]
            case name:
                part = (name, argument)
        yield part


def _loaded_user_sources() -> dict[str, str]:
    """The texts of all loaded modules that are neither ours nor of an installed package."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    own = [file for file in files if file and file.endswith(".py") and not is_ours(file)]
    return {
        file: Path(file).read_text("utf-8", "surrogateescape")
        for file in own
        if not is_installed(file) and Path(file).is_file()
    }
