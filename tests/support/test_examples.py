import subprocess
import sys
from pathlib import Path

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support import examples
from leakgauge.support.examples import copy_example, example_lines, examples_folder

ROOT = Path(__file__).parents[2]


def test_every_example_has_a_name_and_a_sentence():
    lines = example_lines()
    assert set(lines) == {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    assert all(line[0].isupper() and len(line) > 15 for line in lines.values())
    assert lines["city-by-hour"].endswith("the people who were counted?")


def test_an_example_is_copied_with_its_code(tmp_path):
    copy_example("noisy-count", tmp_path / "mine")
    copied = {path.name for path in (tmp_path / "mine").iterdir()}
    assert copied == {"plan.toml", "releases.py"}
    original = ROOT / "examples" / "noisy-count" / "plan.toml"
    assert (tmp_path / "mine" / "plan.toml").read_text() == original.read_text()


def test_folders_below_an_example_are_copied(tmp_path):
    copy_example("flower-app", tmp_path / "app")
    assert (tmp_path / "app" / "flower_example" / "task.py").is_file()
    assert not list((tmp_path / "app").rglob("__pycache__"))


def test_files_that_exist_are_kept_unless_forced(tmp_path):
    (tmp_path / "plan.toml").write_text("mine")
    with pytest.raises(BadInput, match=r"plan\.toml: exists already"):
        copy_example("noisy-count", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
    copy_example("noisy-count", tmp_path, force=True)
    assert (tmp_path / "plan.toml").read_text() != "mine"


def test_an_unknown_example_points_to_the_nearest(tmp_path):
    with pytest.raises(BadInput, match="did you mean 'city-by-hour'"):
        copy_example("city-by-hours", tmp_path)


def test_the_package_is_looked_at_first(tmp_path, monkeypatch):
    (tmp_path / "packaged").mkdir()
    monkeypatch.setattr(examples, "_PLACES", (tmp_path / "packaged", ROOT / "examples"))
    assert examples_folder() == tmp_path / "packaged"
    monkeypatch.setattr(examples, "_PLACES", (tmp_path / "none",))
    with pytest.raises(BadInput, match="the examples are not installed"):
        examples_folder()


@pytest.mark.nightly
def test_a_wheel_holds_the_examples_and_copies_them(tmp_path):
    source = tmp_path / "source"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        if name.startswith(("src/", "examples/", "pyproject", "setup.py", "MANIFEST", "README", "LICENSE")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(tmp_path), str(source)], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(tmp_path / "site")], check=True)
    command = [sys.executable, "-m", "leakgauge", "new", "--example", "noisy-count"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "noisy-count" / "releases.py").is_file()
