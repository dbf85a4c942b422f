import json
import sys

import pytest

from leakgauge import api


@pytest.fixture(autouse=True)
def _no_report(monkeypatch, request):
    """Reports take seconds and have their own tests."""
    if "report" not in request.node.name:
        monkeypatch.setattr(api, "write_report", lambda *_: None)


def test_kept_promise_exits_with_code_0(call, plan, tmp_path):
    outcome = call("run", plan(), "--out", "here")
    assert outcome.code == 0
    assert outcome.out.startswith(
        "No limit stated\n  An attacker who sees the coin is right 73.5% of the time"
    )
    assert "\nPromise not violated" in outcome.out
    assert "Check of the audit: false alarms without a leak" in outcome.out
    assert outcome.out.endswith("Report: here/report.html\n")
    assert outcome.err == ""
    assert (tmp_path / "here" / "verdicts.json").exists()


def test_broken_promise_exits_with_code_1(call, plan):
    outcome = call("run", plan(("mechanism = { epsilon = 1.0 }", "mechanism = { epsilon = 5.0 }")))
    assert outcome.code == 1
    assert "\nPromise broken\n" in outcome.out
    assert "Exit code 1: the promise is violated." in outcome.out


def test_too_few_rounds_exit_with_code_3(call, plan):
    outcome = call("run", plan(("promised = 1.0", "promised = 8.0")))
    assert outcome.code == 3
    assert "Exit code 3: too few rounds to test the promise" in outcome.out


def test_neither_promise_nor_limit_exits_with_code_3(call, plan):
    path = plan(("promised = 1.0", "targets = 1"))
    outcome = call("run", path)
    assert outcome.code == 3
    assert "Exit code 3: nothing was asked" in outcome.out


def test_limits_of_a_policy_file_decide(call, plan, tmp_path):
    path = plan(("promised = 1.0", "targets = 1"))
    (tmp_path / "policy.toml").write_text("[limits]\naccuracy = 0.99\n")
    outcome = call("run", path, "--out", "here", "--policy", "policy.toml")
    assert outcome.code == 0
    assert outcome.out.startswith("Risk within the limit")
    (tmp_path / "policy.toml").write_text("[limits]\naccuracy = 0.55\n")
    assert call("judge", "here", "--policy", "policy.toml").code == 1
    assert call("gate", "here").code == 0  # a policy is for one command; the run keeps its own limits


def test_folder_is_named_after_plan(call, plan, tmp_path):
    plan()
    (tmp_path / "coin.toml").rename(tmp_path / "my-plan.toml")
    call("run", "my-plan.toml")
    assert (tmp_path / "runs" / "my-plan" / "manifest.json").exists()


def test_folder_of_a_plan_called_plan_is_named_after_its_folder(call, plan, tmp_path):
    plan()
    (tmp_path / "may").mkdir()
    (tmp_path / "coin.toml").rename(tmp_path / "may" / "plan.toml")
    assert call("run", "may/plan.toml").out.endswith("Report: runs/may/report.html\n")


def test_fresh_is_refused_in_a_folder_that_is_no_run_folder(call, plan, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("mine")
    outcome = call("run", plan(), "--out", "mine", "--fresh")
    assert outcome == (
        2,
        "",
        "leakgauge: mine: not empty and not a run folder; choose another --out (in Python: out=...)\n",
    )
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["report.html"]
    assert (tmp_path / "mine" / "report.html").read_text() == "mine"


def test_fresh_starts_a_changed_plan_over(call, plan, tmp_path):
    assert call("run", plan()).code == 0
    changed = plan(("seed = 7", "seed = 8"))
    assert call("run", changed).code == 2
    assert call("run", changed, "--fresh").code == 0
    assert json.loads((tmp_path / "runs" / "coin" / "manifest.json").read_text())["seed"] == 8


def test_json_prints_nothing_else(call, plan):
    outcome = call("run", plan(), "--json")
    found = json.loads(outcome.out)
    assert found["schema"] == 2
    assert found["verdicts"][0]["finding"] == "not violated"
    assert (found["folder"], found["report"]) == ("runs/coin", "runs/coin/report.html")
    with open("runs/coin/verdicts.json") as file:  # noqa: PTH123
        assert json.load(file)["verdicts"] == found["verdicts"]


def test_report_is_written(call, plan, tmp_path):
    call("run", plan())
    assert "<html" in (tmp_path / "runs" / "coin" / "report.html").read_text()[:200]


def test_seed_option_overrides_plan(call, plan):
    first = json.loads(call("run", plan(), "--json", "--seed", "3", "--out", "a").out)
    assert first["verdicts"][0]["seed"] == 3
    assert call("run", plan(), "--seed", "4", "--out", "a").code == 2


def test_dry_run_writes_nothing(call, plan, tmp_path):
    plan()
    outcome = call("run", "coin.toml", "--dry-run")
    assert outcome.code == 0
    assert "200 rounds in 2 blocks, 200 trials" in outcome.out
    assert outcome.out.endswith("nothing was written\n")
    assert "limit on" not in outcome.out
    (tmp_path / "policy.toml").write_text("[limits]\naccuracy = 0.6\n")
    limited = call("run", "coin.toml", "--dry-run", "--policy", "policy.toml")
    assert limited.out.endswith("nothing was written\n")
    line = next(line for line in limited.out.splitlines() if line.startswith("limit on accuracy: "))
    assert line.startswith("limit on accuracy: the 200 rounds of coin are too few: write rounds = ")
    assert line.endswith(" for 1 target if attackers learn nothing, more if they do)")
    rounds = line.split("rounds = ")[1].split()[0]
    plan(("rounds = 200", f"rounds = {rounds}"))
    limited = call("run", "coin.toml", "--dry-run", "--policy", "policy.toml")
    assert f"limit on accuracy: the {rounds} rounds of coin suffice (about {rounds} for " in limited.out
    plan()
    (tmp_path / "policy.toml").unlink()
    found = json.loads(call("run", "coin.toml", "--dry-run", "--json").out)
    assert found["rounds"] == 200
    assert [path.name for path in tmp_path.iterdir()] == ["coin.toml"]


@pytest.mark.parametrize(
    "change",
    [
        (("seed = 7", "sead = 7"),),
        (("rounds = 200", "rounds = 'many'"),),
        (("rounds = 200", "rounds = -1"),),
        (("promised = 1.0", "promised = -1.0"),),
        (("promised = 1.0", "promised = nan"),),
        (("promised = 1.0", "promise = 1.0"),),
        (('domain = "coin"', 'domain = "dice"'),),
        (("epsilon = 1.0 }", "epsilon = 'small' }"),),
        (("[[audit]]", "[audit]"),),
        (("seed = 7", "seed ="),),
    ],
)
def test_bad_plan_exits_with_code_2_and_writes_nothing(call, plan, tmp_path, change):
    outcome = call("run", plan(*change))
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("leakgauge: coin.toml: ")
    assert outcome.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["coin.toml"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("data = { source = 'nobody.csv' }", "no such file: nobody.csv"),
        ("attacks = [{ name = 'peek', noize = 1 }]", "did you mean 'noise'?"),
        ("metrics = { epsilon = 'gdp' }", "gaussian"),
    ],
)
def test_challenger_setup_errors_are_bad_input(call, plan, tmp_path, more, words):
    for flags in ([], ["--dry-run"]):
        outcome = call("run", plan(more=more), *flags)
        assert outcome.code == 2
        assert words in outcome.err
        assert "audit 'coin'" in outcome.err
        assert outcome.err.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == ["coin.toml"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--workers", "0"],
        ["--address", "tcp://127.0.0.1:1"],
        ["--seed", "-1"],
        ["--out", "coin.toml"],
        ["--out", "."],
        ["--out", "coin.toml/run"],
    ],
)
def test_bad_options_exit_with_code_2_and_write_nothing(call, plan, tmp_path, flags):
    outcome = call("run", plan(), *flags)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["coin.toml"]


def test_missing_plan_exits_with_code_2(call):
    assert call("run", "none.toml").err == "leakgauge: none.toml: no such plan file; check the path\n"


def test_failing_block_exits_with_code_3_and_shows_user_traceback(call, plan):
    outcome = call("run", plan(("promised = 1.0", "promised = 1.0, fails_at = 100")))
    assert outcome.code == 3
    assert "ZeroDivisionError: the coin broke" in outcome.err
    assert "while running rounds 0 to 99" in outcome.err
    last = outcome.err.splitlines()[-1]
    assert last.startswith("leakgauge: audit 'coin' ended with ZeroDivisionError: the coin broke")
    assert last.endswith("continue with: leakgauge run coin.toml --out runs/coin")


def test_different_plan_in_same_folder_exits_with_code_2(call, plan):
    assert call("run", plan()).code == 0
    outcome = call("run", plan(("mechanism = { epsilon = 1.0 }", "mechanism = { epsilon = 0.5 }")))
    assert outcome.code == 2
    assert "mechanism.epsilon was 1.0, is 0.5" in outcome.err


def test_raising_rounds_continues_the_run(call, plan):
    assert call("run", plan()).code == 0
    found = json.loads(call("run", plan(("rounds = 200", "rounds = 300")), "--json").out)
    assert found["verdicts"][0]["rounds"] == 300


def test_nothing_is_shown_on_stderr_without_terminal(call, plan):
    assert not sys.stderr.isatty()
    assert call("run", plan()).err == ""


VISITS = """
seed = 5
[[audit]]
name = "city"
domain = "locations"
rounds = 10
data = { source = "visits.csv", bad_share = 0.1 }
mechanism = { name = "laplace", epsilon = 1.0 }
sweep = { "mechanism.epsilon" = [0.5, 1.0, 2.0] }
challenger = { splits = 1, group_size = 6 }
attacks = [
  { name = "likelihood", knowledge = { name = "friends", friends = ["Person-03", "Person-04", "Person-05", \
"Person-06", "Person-07", "Person-08", "Person-09"] } },
]
"""


@pytest.fixture
def visits(tmp_path):
    """A plan about people with names, one of whose rows is bad."""
    rows = [
        f"Person-{person:02d},2024-05-0{1 + (person + i) % 5} {7 + i:02d}:00,{'abc'[(person + i) % 3]}"
        for person in range(30)
        for i in range(1 + person % 4)
    ]
    rows.insert(4, "Person-02,never,a")
    (tmp_path / "visits.csv").write_text("user,time,place\n" + "\n".join(rows) + "\n")
    (tmp_path / "visits.toml").write_text(VISITS.replace("\\\n", ""))
    return "visits.toml"


def test_skipped_rows_are_reported_once_in_terminal_and_report(call, visits, tmp_path):
    outcome = call("run", visits, "--out", "here")
    told = "visits.csv: 74 rows read: 73 kept, 1 bad (first: line 6 (time))"
    assert outcome.out.count(f"Data: {told}\n") == 1
    assert told in (tmp_path / "here" / "report.html").read_text()
    again = call("run", visits, "--out", "here", "--json")
    assert json.loads(again.out)["data"][1] == told


def test_file_of_visits_is_read_once_for_all_points_of_sweep(call, visits, monkeypatch):
    from leakgauge.domains.locations.data.visit_files import visit_reader as reading

    read, times = reading.read_visits, []

    def counted(table, folder, releases):
        times.append(table.source)
        return read(table, folder, releases)

    monkeypatch.setattr(reading, "read_visits", counted)
    assert call("run", visits).code != 2
    assert times == ["visits.csv"]


def test_friends_are_named_in_plan_and_not_in_report(call, visits, tmp_path):
    assert call("run", visits, "--out", "here").code != 2
    folder = tmp_path / "here"
    named = {path.name for path in folder.rglob("*") if path.is_file() and b"Person-" in path.read_bytes()}
    assert named == {"plan.toml", "manifest.json"}
    assert "(not shown)" in (folder / "report.html").read_text()


def test_both_compositions_are_in_verdicts(call, visits):
    verdicts = json.loads(call("run", visits, "--json").out)["verdicts"]
    for verdict in verdicts:
        promised = verdict["promised"]
        composed, nominal = promised["composed"], promised["nominal"]["epsilon"]
        assert composed["tight"] <= composed["kairouz"] <= composed["parts"] * nominal == promised["epsilon"]
