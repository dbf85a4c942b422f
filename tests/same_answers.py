"""Compare two trees: the same plans, commands and mistakes must give the same answers.

``make same-answers BASE=<commit>`` runs the plans of ``same_answers.toml`` and every example on that commit
and on the tree as it is, and lists what differs; what is meant to differ stands there too, with the reason.
"""

import argparse
import fnmatch
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LISTED = tomllib.loads((ROOT / "tests" / "same_answers.toml").read_text("utf-8"))
CLOSE = 1e-9  # relative difference of numbers that are called equal
SHOWN = 200  # differences that are listed
SETTINGS = {
    "COLUMNS": "100",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MISTAKE_TOKEN": "token",
}
ABSENT = "(nothing)"
FILES = ("verdicts.json", "exposure.json")
SIGNATURES = """
import inspect, json, leakgauge
def text(name):
    try:
        return str(inspect.signature(getattr(leakgauge, name)))
    except (TypeError, ValueError):
        return "no call"
print(json.dumps({name: text(name) for name in leakgauge.__all__}))
"""


class Tree:
    """One checkout, whose code answers in a folder of its own."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.folder = checkout, folder

    def call(self, arguments: list[str], cwd: Path) -> tuple[int, str, str]:
        """Run this tree's Python; returns exit code, output and errors without the names of folders."""
        cwd.mkdir(parents=True, exist_ok=True)
        command, path = [sys.executable, *arguments], {"PYTHONPATH": str(self.checkout / "src")}
        done = subprocess.run(
            command, cwd=cwd, env=os.environ | SETTINGS | path, capture_output=True, text=True
        )
        output, errors = (
            text.replace(str(cwd), "FOLDER").replace(str(self.checkout), "TREE")
            for text in (done.stdout, done.stderr)
        )
        return done.returncode, output, errors

    def leakgauge(self, line: str, cwd: Path) -> tuple[int, str, str]:
        return self.call(["-m", "leakgauge", *shlex.split(line)], cwd)


def answers_of_plan(tree: Tree, plan: Path, cwd: Path, *, exposed: bool) -> dict[str, Any]:
    """Exit codes of all commands about a run, its verdicts, and its exposure where that is asked for."""
    answers: dict[str, Any] = {"run": tree.leakgauge(f"run {plan} --out run", cwd)[0]}
    expose = [f"expose {plan} --out run"] if exposed else []
    for line in ("judge run", "gate run", "report run --format json", *expose):
        answers[line.partition(" ")[0]] = tree.leakgauge(line, cwd)[0]
    for path in (cwd / "run" / name for name in FILES):
        answers[path.name] = json.loads(path.read_text("utf-8")) if path.exists() else None
    return answers


def answers_of_paper(tree: Tree, paper: str, item: str, cwd: Path) -> dict[str, Any]:
    """The numbers of one figure or table at quick scale."""
    code = tree.leakgauge(f"reproduce {paper} --only {item} --out out", cwd)[0]
    return {"code": code, **json.loads((cwd / "out" / "reproduction.json").read_text("utf-8"))}


def answers_of_schema(tree: Tree, cwd: Path) -> Any:
    """The JSON Schema of plans."""
    return json.loads(tree.leakgauge("schema", cwd)[1])


def answer_to_mistake(tree: Tree, mistake: Any, cwd: Path) -> dict[str, Any]:
    """Exit code and error text."""
    cwd.mkdir(parents=True)
    for name, content in mistake.files.items():
        (cwd / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, _, error = tree.leakgauge(mistake.command, cwd)
    return {"code": code, "error": error}


def questions(tree: Tree) -> dict[str, Callable[[], Any]]:
    """Everything that is asked of a tree: a name, and how it is answered."""
    from cli.test_mistakes import MISTAKES

    asked: dict[str, Callable[[], Any]] = {}
    for path in sorted(tree.checkout.glob("examples/*/plan.toml")):
        name = path.parent.name
        exposed = name in LISTED["exposed"]
        asked[f"example {name}"] = partial(answers_of_plan, tree, path, tree.folder / name, exposed=exposed)
    for name, files in LISTED["plans"].items():
        folder = tree.folder / "plans" / name
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
        exposed = name in LISTED["exposed"]
        asked[f"plan {name}"] = partial(answers_of_plan, tree, folder / "plan.toml", folder, exposed=exposed)
    for paper, item in LISTED["papers"].items():
        asked[f"paper {paper}"] = partial(answers_of_paper, tree, paper, item, tree.folder / "papers" / paper)
    for number, mistake in enumerate(MISTAKES):
        folder = tree.folder / "mistakes" / str(number)
        asked[f"mistake {mistake.name}"] = partial(answer_to_mistake, tree, mistake, folder)
    for command in ("", *LISTED["commands"]):
        asked[f"help {command}"] = partial(tree.leakgauge, f"{command} --help", tree.folder)
    asked["signatures"] = partial(tree.call, ["-c", SIGNATURES], tree.folder)
    asked["schema"] = partial(answers_of_schema, tree, tree.folder)
    return asked


def ask(checkout: Path, folder: Path, only: str) -> dict[str, Any]:
    """All answers of a tree, on every core."""
    asked = questions(Tree(checkout, folder))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {
            name: pool.submit(question) for name, question in asked.items() if fnmatch.fnmatch(name, only)
        }
        return {name: answer.result() for name, answer in running.items()}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and texts of a nested value by their paths."""
    if isinstance(value, Mapping | list | tuple) and value:
        for key, inside in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from leaves(inside, f"{path}/{key}")
    else:
        yield path, value


def differences(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    """What two answers do not have in common, by path."""
    old, new = dict(leaves(before)), dict(leaves(after))
    pairs = {path: (old.get(path, ABSENT), new.get(path, ABSENT)) for path in old | new}
    return {path: pair for path, pair in pairs.items() if not same(*pair)}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE) or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and bool(one == other)


def main() -> int:
    """Compare, and return 1 where something differs that is not meant to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--only", default="*", help="questions by name, such as 'mistake *'")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        base, worktree = str(folder / "base"), ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*worktree, "add", "--detach", "--quiet", base, options.base], check=True)
        try:
            before = ask(folder / "base", folder / "before", options.only)
            after = ask(ROOT, folder / "after", options.only)
        finally:
            subprocess.run([*worktree, "remove", "--force", base], check=True)
    pairs, patterns = differences(before, after), [entry["path"] for entry in LISTED.get("meant", [])]
    meant = {path for path in pairs if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)}
    for path in [path for path in pairs if path not in meant][:SHOWN]:
        print(f"{path}\n  before: {pairs[path][0]!r}\n  after:  {pairs[path][1]!r}")
    print(f"{len(before)} questions; {len(pairs) - len(meant)} differences, and {len(meant)} that are meant")
    return int(len(pairs) > len(meant))


if __name__ == "__main__":
    sys.exit(main())
