import os
import subprocess
import sys
from importlib import import_module

import cloudpickle
import pytest

from leakgauge.support.code_identity import code_identity

PACKAGE = {
    "ours/__init__.py": "from threading import Lock\nLOCK = Lock()  # cannot be packed\n",
    "ours/settings.py": "EPOCHS = 3\nRATES = {'first': 0.1}\nUNUSED = 1\nWORDS = frozenset('defg')\n",
    "ours/rates.py": "RATE = 3\n",
    "ours/late.py": "def train():\n    from .rates import RATE\n    return RATE\n",
    "ours/fits.py": """
from abc import ABC, abstractmethod
from functools import cache
import ours
from ours import settings

SCALE = 1.0
WORDS = {"a", "b", "c"}

class Abstract(ABC):
    depth = 2
    @abstractmethod
    def first(self): ...
    @abstractmethod
    def second(self): ...

class Net:
    depth = 2
    def forward(self, x):
        return x if x in {"a", "b", "c", "d"} else self.depth * SCALE

def helper():
    return SCALE

def by_global(): return SCALE
def by_helper(): return helper()
def by_module(): return settings.EPOCHS
def by_package(): return ours.settings.EPOCHS
def by_text(): return getattr(settings, "EPOCHS")
def by_local_import():
    from ours import settings as known
    return known.EPOCHS
def by_dictionary(): return settings.RATES["first"]
def by_class(): return Net().forward(3)
def by_default(depth=2): return depth
def by_module_in_a_list(known=[settings]): return known[0].EPOCHS
@cache
def remembered(): return settings.EPOCHS
def by_cached_function():
    remembered.cache_clear()
    return remembered()
def by_relative_import():
    from . import settings as known
    return known.EPOCHS
def by_set(): return len(WORDS | settings.WORDS)
def by_abstract_class(): return Abstract.depth
""",
}


@pytest.fixture
def ours(tmp_path, monkeypatch):
    """A package of the user, imported by name."""
    (tmp_path / "ours").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("ours.fits")
    for name in [name for name in sys.modules if name.partition(".")[0] == "ours"]:
        sys.modules.pop(name)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("by_global", "SCALE = 2.0"),
        ("by_helper", "SCALE = 2.0"),
        ("by_module", "settings.EPOCHS = 4"),
        ("by_package", "settings.EPOCHS = 4"),
        ("by_text", "settings.EPOCHS = 4"),
        ("by_local_import", "settings.EPOCHS = 4"),
        ("by_dictionary", "settings.RATES['first'] = 0.2"),
        ("by_class", "Net.depth = 3"),
        ("by_class", "SCALE = 2.0"),
        ("by_default", "by_default.__defaults__ = (3,)"),
        ("by_module_in_a_list", "settings.EPOCHS = 4"),
        ("by_cached_function", "settings.EPOCHS = 4"),
        ("by_relative_import", "settings.EPOCHS = 4"),
        ("by_set", "WORDS.add('h')"),
        ("by_abstract_class", "Abstract.depth = 3"),
    ],
)
def test_imported_function_is_another_one_after_a_value_that_it_uses_changed(ours, name, change):
    function = getattr(ours, name)
    before, result = code_identity(function), function()
    if name != "by_module_in_a_list":  # where all values of the module count
        exec("settings.UNUSED = 2", vars(ours))
    assert code_identity(function) == before is not None
    exec(change, vars(ours))
    assert function() != result
    assert code_identity(function) not in (before, None)


@pytest.mark.parametrize("name", ["by_class", "by_set", "by_abstract_class"])
def test_code_is_recognised_in_another_process(ours, tmp_path, name):
    program = (
        f"import sys; sys.path.insert(0, sys.argv[1]); from ours.fits import {name}; "
        f"from leakgauge.support.code_identity import code_identity; print(code_identity({name}, {{}}))"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    for seed in ("1", "2"):  # of the order of texts in a set
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert done.stdout.strip() == code_identity(getattr(ours, name), {})


def test_what_a_function_imports_when_it_is_called_counts_before_and_after_its_first_call(ours):
    late = import_module("ours.late")
    assert "ours.rates" not in sys.modules
    before = code_identity(late.train, {})
    assert late.train() == 3
    assert code_identity(late.train, {}) == before is not None
    sys.modules["ours.rates"].RATE = 88
    assert late.train() == 88
    assert code_identity(late.train, {}) not in (before, None)


def test_what_stands_in_a_try_counts_where_there_is_no_file():
    defined = {}
    for name, end in (("inside", "; b()\n"), ("outside", "\n")):
        other = "\n    else: b()" if name == "outside" else ""
        text = f"def fit(a, b):\n    try: a(){end}    except ValueError: return 1{other}\n"
        exec(text, space := {"__name__": "cell"})
        defined[name] = space["fit"]
    codes = [function.__code__ for function in defined.values()]
    assert codes[0].co_exceptiontable != codes[1].co_exceptiontable
    assert code_identity(defined["inside"], {}) != code_identity(defined["outside"], {})


def test_code_that_uses_what_cannot_be_packed_has_no_digest(ours):
    assert code_identity(eval("lambda: ours.LOCK", vars(ours))) is None


def test_code_is_recognised_whether_or_not_equal_texts_are_one_object():
    text = "".join(["a", " long text, ", "twice"])
    copy = "".join(["a", " long text, ", "twice"])
    shared, apart = {"one": text, "other": text}, {"one": text, "other": copy}
    assert cloudpickle.dumps(shared) != cloudpickle.dumps(apart)
    assert code_identity(shared, {}) == code_identity(apart, {})


def test_another_value_is_other_code():
    values = [["a", "a"], ["a", "b"], [["a"], ["a"]], {"a": 1}, {"a": 2}, [1.0], [1]]
    inner = ["a"]
    values.append([inner, inner])  # changing one changes the other
    assert len({code_identity(value, {}) for value in values}) == len(values)
    assert code_identity(values[0], {"mine.py": "x = 1"}) != code_identity(values[0], {"mine.py": "x = 2"})
