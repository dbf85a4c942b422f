import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from leakgauge import __version__
from leakgauge.cli import main as cli
from leakgauge.core.errors import BadInput, IncompleteRun


def stop(error):
    """A command that ends with an error."""

    def command(*_, **__):
        raise error

    return command


@pytest.fixture
def ending(monkeypatch, call):
    """Call a command that ends with an error."""

    def run(error):
        monkeypatch.setattr("leakgauge.cli.show.run", stop(error))
        return call("show", "domains")

    return run


def test_help_lists_and_describes_every_command(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    out = capsys.readouterr().out
    for command in ("run", "status", "judge", "report", "reproduce", "serve-oracle", "show"):
        assert f"\n    {command}" in out
    assert "verdicts" not in out


@pytest.mark.parametrize("command", ["run", "status", "judge", "report", "reproduce", "serve-oracle", "show"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    assert "--json" in capsys.readouterr().out


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"leakgauge {__version__}\n"


@pytest.mark.parametrize("argv", [[], ["rum"], ["run"], ["run", "p", "--workers", "two"]])
def test_unknown_command_is_bad_input(argv, capsys):
    assert cli.main(argv) == 2
    err = capsys.readouterr().err
    assert err.startswith("leakgauge: ")
    assert err.count("\n") == 1
    assert err.rstrip().endswith("--help")


def test_a_decimal_comma_in_a_flag_is_answered_with_the_number(capsys):
    assert cli.main(["judge", "scores.csv", "--confidence", "0,9"]) == 2
    assert "invalid float value: '0,9'; write 0.9; see: leakgauge judge --help" in capsys.readouterr().err


def test_a_data_file_is_no_plan_and_the_command_for_it_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("losses.csv").write_text("member,loss\n1,0.5\n")
    assert cli.main(["run", "losses.csv"]) == 2
    assert "; to make a plan for a data file: leakgauge new losses.csv\n" in capsys.readouterr().err


def test_bad_input_prints_one_line_without_traceback(ending):
    outcome = ending(BadInput("this\nis wrong"))
    assert outcome == (2, "", "leakgauge: this is wrong\n")


def test_incomplete_run_exits_with_code_3(ending):
    assert ending(IncompleteRun("go on")) == (3, "", "leakgauge: go on\n")


def test_incomplete_run_shows_what_went_wrong(ending):
    error = IncompleteRun("go on")
    error.__cause__ = ZeroDivisionError("the reason")
    outcome = ending(error)
    assert outcome.code == 3
    assert "ZeroDivisionError: the reason" in outcome.err
    assert outcome.err.endswith("leakgauge: go on\n")


def test_code_that_ends_the_program_is_no_success(ending):
    outcome = ending(SystemExit(0))
    assert outcome.code == 2
    assert "the program was ended by SystemExit: 0" in outcome.err


def test_keyboard_interrupt_exits_with_code_130(ending):
    outcome = ending(KeyboardInterrupt())
    assert outcome.code == 130
    assert outcome.err.endswith("finished blocks are kept; continue with: leakgauge show domains\n")


def test_the_command_that_continues_does_not_start_over(call, plan, monkeypatch):
    monkeypatch.setattr("leakgauge.api.run", stop(KeyboardInterrupt()))
    outcome = call("run", plan(), "--fresh", "--workers", "2")
    assert outcome.code == 130
    assert outcome.err.endswith("continue with: leakgauge run coin.toml --workers 2\n")


def test_internal_error_is_not_reported_as_finding(ending):
    outcome = ending(KeyError("oops"))
    assert outcome.code == 70
    assert "KeyError: 'oops'" in outcome.err


def test_help_imports_no_heavy_library():
    code = "import sys; from leakgauge.cli.main import parser; parser(); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"numpy", "scipy", "rich", "joblib", "sklearn", "altair", "dask", "ray", "jinja2", "tomllib"}
    assert heavy.isdisjoint(loaded)
    assert "leakgauge.cli.run" in loaded


def test_closed_pipe_prints_no_traceback():
    command = f"{sys.executable} -m leakgauge.cli.main show metrics | head -n 0"
    outcome = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert outcome.stderr == ""


def test_closed_pipe_keeps_exit_code(tmp_path):
    """Undecided is 3, also when nobody reads the output."""
    rows = "\n".join(f"{i % 2},{i % 2}" for i in range(20))
    (tmp_path / "scores.csv").write_text(f"member,score\n{rows}\n")
    script = Path(sys.executable).with_name("leakgauge")
    left, right = os.pipe()
    os.close(left)
    with os.fdopen(right, "w") as nobody:
        done = subprocess.run(
            [script, "judge", tmp_path / "scores.csv", "--epsilon", "9"],
            stdout=nobody,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (3, b"")


def test_the_shell_is_answered_where_argcomplete_is_installed(monkeypatch):
    class Answered(Exception):
        pass

    def autocomplete(parser):  # gets the parser of the command that is typed
        (commands,) = parser._subparsers._group_actions
        assert "--dry-run" in commands.choices["run"].format_help()
        raise Answered

    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=autocomplete))
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    monkeypatch.setenv("COMP_LINE", "leakgauge run --d")
    with pytest.raises(Answered):
        cli.main(["run"])


def test_a_shell_that_completes_is_ignored_where_argcomplete_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    assert cli.main(["show", "domains"]) == 0
    assert "blackbox" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("leakgauge r", ["report", "reproduce", "run"]),
        ("leakgauge run --wor", ["--workers"]),
        ("leakgauge new --exa", ["--example"]),
        ("leakgauge tune --va", ["--vary"]),
    ],
)
def test_a_shell_gets_commands_and_flags_from_argcomplete(tmp_path, line, expected):
    """What bash asks and reads, by the protocol of argcomplete."""
    pytest.importorskip("argcomplete", reason="argcomplete is not installed")
    answer = tmp_path / "answer"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    asked |= {"COMP_LINE": line, "COMP_POINT": str(len(line))}
    code = "import sys; sys.argv = ['leakgauge']; from leakgauge.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **asked}, check=True)
    assert [word.strip() for word in answer.read_text().split("\n") if word.strip()] == expected
