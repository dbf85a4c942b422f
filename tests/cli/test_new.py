import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leakgauge import draft
from leakgauge.cli import main as command
from leakgauge.plan import read_plan

LOSSES = "is_member,loss\n" + "".join(
    f"{i % 2},{loss:.3f}\n" for i, loss in enumerate(np.random.default_rng(8).exponential(1.0, 200).tolist())
)


@pytest.fixture
def losses(tmp_path):
    (tmp_path / "losses.csv").write_text(LOSSES)
    return "losses.csv"


def test_a_file_becomes_a_plan_an_answer_and_the_next_command(call, losses):
    code, out, err = call("new", losses)
    assert (code, err) == (0, "")
    assert (
        "losses.csv: 200 rows, 2 columns\nLooks like losses: columns is_member (member) and loss (loss)."
        in out
    )
    assert "Answers assumed: assignment = given, limit = 0.6 (each is a flag: --assignment X)" in out
    assert "Wrote losses-audit/plan.toml" in out
    assert "Preview; it decides nothing:" in out
    assert "An attacker who can query the model and knows the members' mean loss is right" in out
    assert "leakgauge run losses-audit/plan.toml" in out
    text = Path("losses-audit/plan.toml").read_text()
    assert text.startswith("#:schema ./plan.schema.json\n")
    assert Path("losses-audit/plan.schema.json").is_file()


def test_the_command_that_is_named_next_works_on_the_plan(call, losses):
    assert call("new", losses, "--no-preview").code == 0
    assert call("run", "losses-audit/plan.toml").code in (0, 1, 3)


def test_an_existing_plan_is_kept_unless_forced(call, losses):
    assert call("new", losses, "--no-preview").code == 0
    before = Path("losses-audit/plan.toml").read_text()
    code, _, err = call("new", losses, "--no-preview", "--limit", "0.7")
    assert code == 2
    assert (
        "losses-audit/plan.toml: exists already; choose another folder (--out), or replace it (--force)"
        in err
    )
    assert Path("losses-audit/plan.toml").read_text() == before
    assert call("new", losses, "--no-preview", "--limit", "0.7", "--force").code == 0
    assert "accuracy = 0.7" in Path("losses-audit/plan.toml").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to start from: name a file (leakgauge new visits.csv), a kind"),
        (["none.csv"], "none.csv: there is no such file; check the path"),
        (["losses.csv", "--kind", "loss"], "no kind is called 'loss'; did you mean 'losses'?"),
        (["--kind", "losses"], "--kind losses needs a file"),
        (["losses.csv", "--limit", "60"], "--limit: must be above 0.5 and below 1, got 60"),
        (["losses.csv", "--grid", "3x3"], "no question about this kind of file is called 'grid'"),
        (["losses.csv", "--member", "members"], "--member: losses.csv: no column is called 'members'"),
        (["--example", "citty-table"], "no example is called 'citty-table'; did you mean 'city-table'?"),
        (["losses.csv", "--example", "city-table"], "--example copies an example as it is; leave out FILE"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(call, losses, words, message):
    code, _, err = call("new", *words)
    assert code == 2
    assert err.startswith(f"leakgauge: {message}")
    assert err.count("\n") == 1
    assert [path.name for path in Path.cwd().iterdir()] == ["losses.csv"]


def test_data_that_the_reader_refuses_leave_a_plan_to_change(call, tmp_path):
    rows = "".join(f"{i % 2},{'' if i == 7 else 0.5}\n" for i in range(40))
    (tmp_path / "losses.csv").write_text("member,loss\n" + rows)
    code, _, err = call("new", "losses.csv")
    assert code == 2
    assert "(the plan is written: change it there, then: leakgauge run losses-audit/plan.toml)" in err
    assert Path("losses-audit/plan.toml").is_file()


def test_scores_are_judged_at_once(call, tmp_path):
    rng = np.random.default_rng(9)
    rows = "".join(f"{i % 2},{i % 2 + rng.normal():.3f}\n" for i in range(200))
    (tmp_path / "scores.csv").write_text("member,score\n" + rows)
    code, out, _ = call("new", "scores.csv", "--yes")
    assert (code, "--policy" in out) == (3, False)  # nobody stated a limit
    code, out, _ = call("new", "scores.csv", "--limit", "0.6")
    assert code == 1
    assert "No plan is needed: leakgauge judge scores.csv --policy scores-audit/policy.toml" in out
    assert "Risk over the limit" in out


def test_a_query_log_beside_its_table_is_exposed_at_once(call, tmp_path):
    (tmp_path / "log.csv").write_text("query,where,epsilon\nq1,age > 30,0.5\nq2,age > 40,0.5\n")
    (tmp_path / "people.csv").write_text("id,age\nann,35\nbob,50\n")
    code, out, err = call("new", "log.csv", "--data", "people.csv", "--yes")
    assert (code, err) == (0, "")
    assert "No plan is needed: leakgauge expose --query-log log.csv --data people.csv\n" in out
    assert Path("runs/log/exposure.csv").is_file()


def test_scores_with_decimal_commas_are_judged(call, tmp_path):
    rows = "".join(f"{i % 2};{i % 7},{i % 10}\n" for i in range(200))
    (tmp_path / "scores.csv").write_text("member;score\n" + rows)
    code, out, _ = call("new", "scores.csv", "--yes")
    assert code in (0, 1, 3)
    assert "divided by semicolons, decimal commas" in out


def test_scores_that_cannot_be_judged_leave_nothing_behind(call, tmp_path):
    rows = "".join(f"{i % 2},{i % 7}.{i % 10}\n" for i in range(200))
    (tmp_path / "scores.csv").write_text("member,score\n" + rows + "1,inf\n")
    code, _, err = call("new", "scores.csv", "--yes")
    assert code == 2
    assert "line 202, column score: not a finite number" in err
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]
    Path("scores-audit").mkdir()
    Path("scores-audit/policy.toml").write_text("# mine")
    assert call("new", "scores.csv", "--yes", "--force").code == 2
    assert Path("scores-audit/policy.toml").read_text() == "# mine"


def test_a_running_service_has_no_preview(call):
    code, out, _ = call("new", "--kind", "query-service")
    assert code == 0
    assert "No preview yet: start the service first" in out
    assert Path("query-service-audit/plan.toml").is_file()


def test_a_preview_that_would_take_too_long_says_how_long_the_run_takes(call, losses, monkeypatch):
    monkeypatch.setattr(draft, "preview_rounds", lambda *_, **__: 0)
    code, out, _ = call("new", losses)
    assert code == 0
    assert "No preview: even a few simulated releases take about" in out


def test_an_example_is_copied_by_name(call):
    code, out, _ = call("new", "--example", "noisy-count")
    assert code == 0
    assert "leakgauge run noisy-count/plan.toml" in out
    assert len(read_plan("noisy-count/plan.toml").audits) == 3


def test_other_commands_do_not_load_the_domains_for_their_help():
    code = (
        "import sys; from leakgauge.cli.main import parser; parser(None).format_help(); "
        "sys.exit(any(name.startswith('leakgauge.domains') or name == 'numpy' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_help_names_the_flag_of_every_question(capsys):
    with pytest.raises(SystemExit):
        command.main(["new", "--help"])
    out = capsys.readouterr().out
    assert all(f"--{key} X" in out for key in draft.question_flags())


def test_questions_are_asked_on_a_terminal_and_enter_accepts_the_default(losses):
    """Answers: random assignment; a wrong epsilon, then 2; the default limit."""
    main, other = pty.openpty()
    words = [sys.executable, "-m", "leakgauge", "new", losses, "--no-preview"]
    child = subprocess.Popen(words, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(main, b"random\nmany\n2\n\n")
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert child.wait() == 0
    text = shown.decode()
    assert "How was it decided which rows are members? [given]" in text
    assert "must be a number, got 'many'" in text
    assert "randomised = true" in Path("losses-audit/plan.toml").read_text()
    assert "epsilon = 2.0" in Path("losses-audit/plan.toml").read_text()


def test_a_question_without_an_answer_is_one_line_that_names_the_way_out(losses, monkeypatch, capsys):
    def end_of_input(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", end_of_input)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert command.main(["new", str(losses), "--no-preview"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("leakgauge: no answer to: How was it decided which rows are members?")
    assert "--yes" in error
    assert not Path("losses-audit").exists()


RELEASE = "def release(data, rng):\n    return data + rng.laplace()\n\n\npair = (0.0, 1.0)\n"


def test_the_plan_of_an_app_in_another_folder_finds_the_app(call):
    Path("apps/mine/mine").mkdir(parents=True)
    Path("apps/mine/pyproject.toml").write_text('[tool.flwr.app]\npublisher = "me"\n')
    Path("apps/mine/mine/task.py").write_text("def load_data(partition):\n    return partition\n")
    assert call("new", "apps/mine", "--no-preview", "--out", "plans/fa").code == 0
    assert 'app = "../../apps/mine"' in Path("plans/fa/plan.toml").read_text()
    plan = read_plan(Path("plans/fa/plan.toml"))
    assert (plan.folder / plan.audits[0].challenger["app"]).resolve() == Path("apps/mine").resolve()
    assert call("new", "apps/mine", "--no-preview").code == 0
    assert 'app = "."' in Path("apps/mine/plan.toml").read_text()


def test_the_plan_of_a_python_file_is_beside_it_or_refused(call):
    Path("code").mkdir()
    Path("code/rel.py").write_text(RELEASE)
    code, _, err = call("new", "code/rel.py", "--epsilon", "1", "--no-preview", "--out", "elsewhere")
    assert (code, Path("elsewhere").exists()) == (2, False)
    assert err == (
        "leakgauge: --out elsewhere: the plan imports rel.py, so it must be in the same folder; leave out "
        "--out, or move rel.py to elsewhere first\n"
    )
    assert call("new", "code/rel.py", "--epsilon", "1", "--no-preview", "--out", "./code").code == 0
    assert call("run", "code/plan.toml", "--dry-run").code == 0
