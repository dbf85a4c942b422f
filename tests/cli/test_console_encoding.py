"""A console that is not UTF-8 loses no verdict: every command prints, and keeps its exit code."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import leakgauge.cli
import leakgauge.papers
from leakgauge import api
from leakgauge.cli.main import main, parser

ENCODINGS = ["ascii", "cp1252", "utf-8"]
PLAN = """
seed = 7
[[audit]]
name = "coin"
domain = "coin"
rounds = 200
block = 100
challenger = { promised = 8.0 }
mechanism = { epsilon = 1.0 }
"""
CITY = """
seed = 5
[[audit]]
name = "city"
domain = "locations"
data = { source = "synthetic", users = 60, sites = 5, epochs = 24 }
mechanism = { name = "laplace", epsilon = 1.0 }
challenger = { splits = 1, group_size = 10 }
"""


@pytest.fixture
def console(monkeypatch):
    """Call the command line with consoles of an encoding; return the exit code and both outputs."""

    def run(encoding, *argv):
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding) for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            try:
                code = main([str(word) for word in argv])
            except SystemExit as leaving:
                code = leaving.code
        for stream in streams.values():
            stream.flush()
        out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams.values())
        return code, out, err

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder and a plan whose names are not ASCII, with scores and a paper."""
    more = str(Path(__file__).parents[1] / "papers" / "more")
    monkeypatch.setattr(leakgauge.papers, "__path__", [*leakgauge.papers.__path__, more])
    path = tmp_path / "Łódź ε"
    path.mkdir()
    monkeypatch.chdir(path)
    (path / "plan ε.toml").write_text(PLAN, encoding="utf-8")
    (path / "city.toml").write_text(CITY, encoding="utf-8")
    rows = "\n".join(f"{i % 2},{i % 2}" for i in range(20))
    (path / "scores.csv").write_text(f"member,score\n{rows}\n")
    return path


COMMANDS = [
    (3, ["run", "plan ε.toml"]),
    (3, ["run", "plan ε.toml", "--json"]),
    (0, ["run", "plan ε.toml", "--dry-run"]),
    (2, ["run", "no such plan ε.toml"]),
    (0, ["status", "runs/plan ε"]),
    (0, ["status", "runs/plan ε", "--json"]),
    (3, ["judge", "runs/plan ε"]),
    (3, ["judge", "scores.csv", "--epsilon", "9"]),
    (3, ["gate", "runs/plan ε"]),
    (3, ["gate", "runs/plan ε", "--json", "--markdown", "gate ε.md"]),
    (3, ["judge", "scores.csv", "--epsilon", "9", "--json"]),
    (0, ["report", "runs/plan ε"]),
    (0, ["report", "runs/plan ε", "--json"]),
    (0, ["expose", "city.toml", "--out", "exposed ε"]),
    (0, ["expose", "city.toml", "--out", "exposed ε", "--json"]),
    (0, ["bundle", "runs/plan ε", "--out", "ε.zip"]),
    (0, ["verify", "ε.zip"]),
    (0, ["verify", "ε.zip", "--json"]),
    (0, ["show", "metrics"]),
    (0, ["show", "attacks", "--json"]),
    (0, ["reproduce", "tiny26", "--only", "table_1", "--out", "ours ε"]),
    (0, ["reproduce", "tiny26", "--only", "table_1", "--out", "ours ε", "--json"]),
]


def write_short_report(folder, _, **__):
    (folder / "report.html").write_text("a page")
    return folder / "report.html"


@pytest.mark.nightly
def test_every_command_says_in_any_encoding_what_it_says_in_utf_8(console, folder, monkeypatch):
    monkeypatch.setattr(api, "write_report", write_short_report)  # pages take seconds
    monkeypatch.setattr("leakgauge.report.sections.exposure.write_exposure_page", lambda *_: None)
    for expected, argv in COMMANDS:
        code, out, err = console("utf-8", *argv)
        assert (code, err.count("\n")) == (expected, code == 2), (argv, err)
        for encoding in ("ascii", "cp1252"):
            again, plain, error = console(encoding, *argv)
            assert (again, error.count("\n")) == (code, err.count("\n")), (argv, error)
            assert len(plain.splitlines()) == len(out.splitlines())
            if "--json" in argv:
                assert json.loads(plain) == json.loads(out)


def test_symbols_are_spelled_out(console, folder):
    code, out, err = console("ascii", "judge", "scores.csv", "--epsilon", "9")
    assert (code, err) == (3, "")
    assert out.startswith("High risk, no limit stated")
    assert "epsilon shown" in out
    assert "\\u" not in out


def test_names_of_the_user_are_escaped(console, folder):
    code, _, err = console("ascii", "status", "Żółw")
    assert code == 2
    assert err.startswith("leakgauge: \\u017b\\xf3\\u0142w")


def test_names_that_are_no_text_are_escaped(console, folder):
    """File names are bytes; those that are no UTF-8 reach Python as lone surrogates."""
    code, _, err = console("utf-8", "status", os.fsdecode(b"caf\xe9"))
    assert code == 2
    assert err.startswith("leakgauge: caf\\udce9")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_help_of_every_command_can_be_printed(console, encoding):
    commands = next(action for action in parser()._actions if action.choices)
    assert set(commands.choices) >= {argv[0] for _, argv in COMMANDS}
    for command in commands.choices:
        code, out, err = console(encoding, command, "--help")
        assert (code, err) == (0, "")
        assert out.startswith("usage: leakgauge")


def test_commands_print_json_in_ascii():
    for path in Path(leakgauge.cli.__file__).parent.glob("*.py"):
        assert "ensure_ascii" not in path.read_text(encoding="utf-8"), path.name


WITHOUT_REPORT = """
import sys
from leakgauge import api
from leakgauge.cli.main import main
api.write_report = lambda *_: None  # it takes seconds
sys.exit(main())
"""


@pytest.fixture(scope="module")
def run_in_process(tmp_path_factory):
    """Run a plan with code of one's own in a new process; return how it ended and its folder."""
    home = tmp_path_factory.mktemp("Łódź")
    (home / "mine.py").write_text(
        "# Łódź\ndef release(dataset, rng):\n    print('ε')\n    return dataset + rng.laplace()\n",
        encoding="utf-8",
    )
    (home / "plan.toml").write_text(
        "# Łódź\nseed = 1\n[[audit]]\nname = 'own'\ndomain = 'blackbox'\nrounds = 100\n"
        "challenger = { release = 'mine:release', pair = [0.0, 1.0], epsilon = 9.0 }\n"
        "attacks = [{ name = 'learned_event', shadows = 100 }]\n",
        encoding="utf-8",
    )

    def run(out, *, report=False, **environment):
        command = ["-m", "leakgauge.cli.main"] if report else ["-c", WITHOUT_REPORT]
        done = subprocess.run(
            [sys.executable, *command, "run", "plan.toml", "--out", out],
            env={**os.environ, **environment},
            cwd=home,
            capture_output=True,
            check=False,
        )
        return done, home / out

    return run


@pytest.fixture(scope="module")
def run_in_utf_8(run_in_process):
    return run_in_process("utf-8", PYTHONUTF8="1")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("environment", "report"),
    [
        ({"PYTHONIOENCODING": "ascii"}, False),
        ({"PYTHONIOENCODING": "cp1252"}, False),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, True),  # of files as well
    ],
    ids=["ascii", "cp1252", "C"],
)
def test_run_in_a_process_of_another_encoding_is_the_same_run(
    run_in_process, run_in_utf_8, environment, report
):
    """The same verdicts, and the same digests of plan and code, so that one process continues the other."""
    done, folder = run_in_process("-".join(environment.values()), report=report, **environment)
    same, utf_8 = run_in_utf_8
    assert (done.returncode, same.returncode) == (3, 3), done.stderr.decode()
    assert done.stdout.startswith(b"No limit stated")
    assert b"Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == len(same.stdout.splitlines())
    assert (folder / "verdicts.json").read_bytes() == (utf_8 / "verdicts.json").read_bytes()
    assert digests(folder) == digests(utf_8)
    assert (folder / "report.html").exists() == report


def digests(folder):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    return {name: manifest[name] for name in ("digest", "code", "plan", "facts")}
