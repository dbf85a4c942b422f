"""leakgauge works on every system, outside of its checkout, and its hints install what they say."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "leakgauge"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
UNIX_ONLY = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog", "crypt"}
UNIX_FUNCTIONS = {
    "fork",
    "getuid",
    "geteuid",
    "getpwnam",
    "setsid",
    "killpg",
    "mkfifo",
    "chown",
    "O_DIRECTORY",
}
# The package that installs a library, where its name is not that of the library.
PACKAGES = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "dp_accounting": "dp-accounting",
    "distributed": "dask",
}
PLAN = """\
seed = 1
[limits]
accuracy = 0.9
[[audit]]
name = "city"
domain = "locations"
rounds = 40
block = 20
data = { source = "synthetic", users = 40, sites = 4, epochs = 24 }
mechanism = { name = "laplace", epsilon = 1.0, unit = "event" }
attacks = [{ name = "likelihood", knowledge = "informed" }]
[audit.challenger]
group_size = 10
targets = { n = 2 }
"""
WITHOUT_UNIX = """\
import sys, warnings
blocked = {blocked}
for name in blocked:
    sys.modules.pop(name, None)
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name in blocked:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
warnings.filterwarnings("ignore", "only soft file lock")
from leakgauge.cli.main import main
for line in {lines}:
    code = main(line.split())
    print(line, code)
    assert code in (0, 1, 3), (line, code)
assert not set(blocked) & set(sys.modules)
"""


def sources():
    return sorted(SOURCE.rglob("*.py"))


@cache
def nodes(path):
    return list(ast.walk(ast.parse(path.read_bytes())))


def test_no_source_imports_what_only_unix_has():
    for path in sources():
        for node in nodes(path):
            if isinstance(node, ast.Import):
                assert not {alias.name.partition(".")[0] for alias in node.names} & UNIX_ONLY, path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in UNIX_ONLY, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                assert node.attr not in UNIX_FUNCTIONS, path


def test_text_files_are_opened_with_an_encoding():
    """Without one, Windows uses that of the console."""
    for path in sources():
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = {keyword.arg for keyword in node.keywords}
                if node.func.attr == "read_text":
                    assert node.args or "encoding" in given, f"{path}, line {node.lineno}"
                if node.func.attr == "write_text":
                    assert node.args[1:] or "encoding" in given, f"{path}, line {node.lineno}"


@pytest.mark.nightly
def test_small_plan_runs_to_the_end_without_modules_of_unix(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    lines = ["run plan.toml --out run", "status run", "judge run", "gate run", "report run --format md"]
    lines += ["expose plan.toml --out run", "bundle run"]
    blocked = ["fcntl", "resource", "pwd", "grp", "termios"]
    code = WITHOUT_UNIX.format(blocked=blocked, lines=lines)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.zip").exists()


def hints():
    """Every hint to install an extra of leakgauge: the file, and the extras."""
    for path in sources():
        text = re.sub(r'"\s*\n\s*f?"', "", path.read_text("utf-8"))
        for found in re.findall(r"pip install '?leakgauge\[([^\]]*)\]", text):
            yield path, found.split(",")


def packages(extra):
    entries = PROJECT["optional-dependencies"][extra]
    return {re.match(r"[A-Za-z0-9_.-]+", entry)[0].lower() for entry in entries}


def test_extras_in_hints_exist_and_have_the_libraries_of_that_file():
    found = list(hints())
    assert len(found) >= 10
    optional = {name for extra in PROJECT["optional-dependencies"] for name in packages(extra)}
    optional -= {"leakgauge", "opacus"}  # the latter only where the user's code has imported it
    for path, extras in found:
        assert set(extras) <= set(PROJECT["optional-dependencies"]), path
        installed = {name for extra in extras for name in packages(extra)}
        for library in imported_libraries(path):
            package = PACKAGES.get(library, library).lower()
            if package in optional:
                assert package in installed, f"{path}: {library} is not in {extras}"


def imported_libraries(path):
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("find_spec", "_is_installed"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


def test_libraries_that_are_imported_are_dependencies_or_have_a_hint():
    """Nobody meets a bare ModuleNotFoundError: a library is a dependency, or an extra installs it."""
    core = {re.match(r"[A-Za-z0-9_.-]+", entry)[0].lower() for entry in PROJECT["dependencies"]}
    users = set(PROJECT["optional-dependencies"]) - {"dev", "tools", "docs"}
    known = core | {name for extra in users for name in packages(extra)}
    known |= {"leakgauge", "opacus", "pandas", "polars"}  # only where the user's own code has imported them
    known |= {"grpc", "markupsafe", "narwhals", "starlette", "pyarrow", "ipython"}  # come with others
    known |= {"argcomplete", "pytest"}  # imported only where the shell or pytest itself asks for it
    for path in sources():
        for library in imported_libraries(path):
            package = PACKAGES.get(library, library).lower().replace("_", "-")
            standard = library in sys.stdlib_module_names or library == "__future__"
            assert standard or package in known or f"{package}-python" in known, f"{path}: {library}"


def test_messages_need_no_checkout():
    """No text tells users to run make or to open a file of the repository."""
    words = re.compile(
        r"\bmake (test|audit|bench|docs)\b|CONTRIBUTING|(?<![./\w])(docs|examples|tests)/|checkout"
    )
    for path in sources():
        docstrings = {id(node.body[0].value) for node in nodes(path) if has_docstring(node)}
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not words.search(node.value), f"{path}, line {node.lineno}: {node.value}"


def test_comments_of_examples_hold_where_they_are_copied_to():
    """`leakgauge new --example NAME` copies a folder: a path to it in the repository is nowhere there."""
    files = [path for path in (ROOT / "examples").rglob("*") if path.suffix in (".toml", ".py")]
    assert len(files) > 10
    for path in files:
        assert not re.search(r"(?<![.\w])(docs|examples|tests)/|checkout", path.read_text("utf-8")), path
        for line in re.findall(r"^# .*leakgauge (?:run|expose) (\S+)", path.read_text("utf-8"), re.MULTILINE):
            assert (path.parent / line).is_file(), path


def has_docstring(node):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def package_files():
    files = (path for path in SOURCE.rglob("*") if path.is_file())
    return [path for path in files if path.parent.name != "__pycache__"]


def test_package_data_cover_every_file_that_is_no_source():
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    covered = {path for pattern in table["leakgauge"] for path in SOURCE.glob(pattern)}
    others = {path for path in package_files() if path.suffix != ".py"}
    assert others == covered


@pytest.mark.nightly
def test_wheel_works_outside_of_the_checkout(tmp_path):
    """It is built, and used from a folder that has nothing of the checkout."""
    wheels, place = tmp_path / "wheels", tmp_path / "elsewhere"
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        wheels,
        ROOT,
    ]
    subprocess.run(build, check=True, capture_output=True, text=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    assert {path.relative_to(SOURCE.parent).as_posix() for path in package_files()} <= names
    place.mkdir()
    (place / "plan.toml").write_text(PLAN)
    code = (
        f"import sys; own = {str(tmp_path / 'installed')!r}\n"
        "sys.path[:] = [own, *(path for path in sys.path if 'src' not in path)]\n"
        "import leakgauge; assert 'installed' in leakgauge.__file__\n"
        "from leakgauge.cli.main import main\n"
        "for line in ('run plan.toml --out run', 'judge run', 'report run', 'show mechanisms'):\n"
        "    assert main(line.split()) in (0, 1, 3), line\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (place / "run" / "report.html").exists()
