"""Whether files, modules and functions that a page names exist."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "leakgauge"


def exists(path):
    """Whether a path exists in the repository or below the package; <domain> stands for any domain."""
    pattern = re.sub(r"<\w+>", "*", path.removesuffix("/"))
    return any(any(folder.glob(pattern)) for folder in (ROOT, SOURCE))


def resolves(dotted):
    """Whether a dotted name below leakgauge is a module, or something that one defines."""
    parts = [part for part in dotted.removeprefix("leakgauge").split(".") if part]
    for size in range(len(parts), -1, -1):
        module = ".".join(["leakgauge", *parts[:size]])
        if _is_module(module):
            return _defines(import_module(module), parts[size:])
    return False


def _is_module(name):
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _defines(module, names):
    """Whether a module itself defines a name, or a class in it an attribute."""
    thing = module
    for name in names:
        if thing is not module and name in getattr(thing, "__dataclass_fields__", {}):
            return name == names[-1]
        if not hasattr(thing, name):
            return False
        thing = getattr(thing, name)
    return (
        not names or module.__name__ == "leakgauge" or getattr(thing, "__module__", None) == module.__name__
    )
