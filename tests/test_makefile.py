"""What make would do, without doing it."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def planned(tmp_path, *arguments):
    """The commands of a target in a fresh copy, where nothing is set up yet."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    command = ["make", "--dry-run", *arguments]
    return subprocess.run(
        command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    ).stdout


@needs_make
def test_other_interpreter_has_its_own_environment(tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()  # of the usual interpreter
    commands = planned(tmp_path, "tests", "PYTHON=python3.13")
    assert "python3.13 -m venv .venv-python3.13" in commands
    assert ".venv-python3.13/bin/python -m pytest" in commands
    assert ".venv/bin" not in commands
    usual = planned(tmp_path, "tests")
    assert ".venv/bin/python -m pytest" in usual
    assert "-m venv" not in usual


@needs_make
def test_nightly_tests_have_their_own_target(tmp_path):
    assert "-m nightly" in planned(tmp_path, "test-nightly")
    assert "nightly" not in planned(tmp_path, "test")


@needs_make
def test_slow_tests_have_their_own_target(tmp_path):
    assert '-m "not slow"' in planned(tmp_path, "test")
    assert "-m slow" in planned(tmp_path, "test-slow")


@needs_make
@pytest.mark.parametrize(("ci", "ends_well"), [({}, True), ({"CI": "true"}, False)])
def test_missing_library_leaves_out_its_extra_unless_in_ci(tmp_path, ci, ends_well):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    pip = tmp_path / "pip.sh"  # one that has no torch
    pip.write_text('#!/bin/sh\necho "asked for $2"\ncase $2 in *dev*|*ml*) exit 1;; esac\n')
    pip.chmod(0o755)
    done = subprocess.run(
        ["make", ".venv/.dev", f"PIP={pip}"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", **ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == ends_well
    assert (tmp_path / ".venv" / ".dev").exists() == ends_well
    assert ("tests go without [ml]\nasked for .[service]" in done.stdout) == ends_well
