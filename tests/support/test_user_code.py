import fnmatch
import subprocess
import sys
import textwrap

import cloudpickle
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support.user_code import UserCodeLoader, error_with_location


@pytest.fixture
def folder(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))

    write(
        "mine.py",
        "import beside\nclass Box:\n    pair = (1, 2)\ndef release(d, rng):\n    return beside.double(d)\n",
    )
    write("beside.py", "def double(x):\n    return 2 * x\n")
    write("package/inner.py", "def release(d, rng):\n    return 'inner'\n")
    write("broken.py", "def release(d, rng)\n    return 1\n")
    write("raises.py", "\n1 / 0\n")
    write("needs.py", "import not_there_at_all\n")
    write("typo.py", "import broken\n")
    write(
        "calls.py", "import numpy\nimport json\n\ndef numpy_error():\n    return numpy.zeros(2).reshape(3)\n"
    )
    return tmp_path


def load(folder, reference):
    return UserCodeLoader(folder).load(reference, "challenger.release")


def test_functions_and_their_imports_come_from_the_plan_folder(folder):
    assert load(folder, "mine:release")(21, None) == 42
    assert load(folder, "mine:Box.pair") == (1, 2)
    assert load(folder, "package.inner:release")(0, None) == "inner"


def test_installed_modules_can_be_loaded(folder):
    import math

    assert load(folder, "math:sqrt") is math.sqrt


def test_import_state_is_restored(folder):
    path, known = list(sys.path), set(sys.modules)
    load(folder, "mine:release")
    assert sys.path == path
    left = {name for name in set(sys.modules) - known if not name.startswith("leakgauge_plan_")}
    assert "beside" not in left
    assert not list(folder.rglob("__pycache__"))


def test_changed_file_and_its_imports_are_reloaded(folder):
    assert load(folder, "mine:release")(1, None) == 2
    (folder / "beside.py").write_text("def double(x):\n    return 'changed'\n")
    assert load(folder, "mine:release")(1, None) == "changed"


def test_module_of_same_name_elsewhere_is_not_used(folder, monkeypatch):
    import types

    other = types.ModuleType("beside")
    monkeypatch.setitem(sys.modules, "beside", other)
    other.__file__ = str(folder / "beside.py")
    assert load(folder, "mine:release")(1, None) == 2
    assert sys.modules["beside"] is other


def test_loaded_function_can_be_pickled_by_value(folder, tmp_path_factory):
    packed = tmp_path_factory.mktemp("elsewhere") / "packed"
    packed.write_bytes(cloudpickle.dumps(load(folder, "mine:release")))
    code = f"import pickle; print(pickle.loads(open({str(packed)!r}, 'rb').read())(4, None))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=packed.parent, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "8"


def test_sources_of_all_files_are_recorded(folder):
    loader = UserCodeLoader(folder)
    loader.load("mine:release", "x")
    assert set(loader.sources) == {"mine.py", "beside"}
    assert "double" in loader.sources["beside"]


def test_module_is_executed_once(folder):
    loader = UserCodeLoader(folder)
    assert loader.load("mine:Box", "x") is loader.load("mine:Box", "y")


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("mine", 'must be written "module:name"'),
        ("mine:", 'must be written "module:name"'),
        ("../mine:release", 'must be written "module:name"'),
        ("absent:release", "no absent.py in"),
        ("mine:absent", "has no 'absent'"),
        ("broken:release", "line 1: expected ':'"),
        ("raises:release", "raised ZeroDivisionError: division by zero ("),
        ("raises:release", "raises.py, line 2)"),
        ("typo:release", "broken.py, line 1: expected ':'"),
        ("needs:release", "raised ModuleNotFoundError: No module named 'not_there_at_all'"),
    ],
)
def test_load_errors_are_one_line(folder, reference, problem):
    with pytest.raises(BadInput) as caught:
        load(folder, reference)
    assert str(caught.value).startswith("challenger.release: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def caught_error(call):
    try:
        call()
    except (Exception, SystemExit) as error:
        return error_with_location(error)
    raise AssertionError("no error")


def test_location_is_the_users_line_and_not_that_of_a_library(folder, monkeypatch):
    monkeypatch.chdir(folder)
    message = caught_error(load(folder, "calls:numpy_error"))
    assert message == "ValueError: cannot reshape array of size 2 into shape (3,) (calls.py, line 5)"


def test_location_in_an_imported_file_of_the_user(folder, monkeypatch):
    (folder / "beside.py").write_text("def double(x):\n    y = 2\n    raise KeyError\n")
    monkeypatch.chdir(folder)
    assert caught_error(lambda: load(folder, "mine:release")(1, None)) == (
        "KeyError: (no message) (beside.py, line 3)"
    )


def test_installed_function_is_located_where_it_was_entered():
    """No code of the user is involved."""
    from leakgauge.domains.blackbox.release import run_release

    with pytest.raises(BadInput, match=r"raised TypeError: .*fnmatch\.py, line \d+\) in round 0"):
        run_release(fnmatch.fnmatch, (5, 6), np.array([False]), np.random.default_rng(0))


def test_location_survives_pickling_and_other_folders(folder):
    """A worker gets the function by value, and may have another current folder."""
    import pickle

    sent = pickle.loads(cloudpickle.dumps(load(folder, "calls:numpy_error")))
    assert caught_error(sent).endswith(f"({folder / 'calls.py'}, line 5)")


def test_code_without_a_file_is_named_as_python_names_it():
    namespace = {}
    exec("def fails():\n    raise ValueError('no\\nfile')", namespace)
    assert caught_error(namespace["fails"]) == "ValueError: no file (<string>, line 2)"


def test_error_never_raised_has_no_location():
    assert error_with_location(ValueError("x")) == "ValueError: x"
