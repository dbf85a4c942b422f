import json
from pathlib import Path
from xml.etree import ElementTree

import pytest


@pytest.fixture
def folder(call, plan):
    call("run", plan(), "--out", "here")
    return "here"


def policy(tmp_path, text):
    (tmp_path / "policy.toml").write_text(text)
    return "policy.toml"


@pytest.mark.parametrize(("limit", "code"), [(0.95, 0), (0.55, 1), (0.73, 3)])
def test_gate_judge_and_run_agree(call, folder, tmp_path, limit, code):
    path = policy(tmp_path, f"[limits]\naccuracy = {limit}\n")  # the attacker is right 73.1 % of the time
    assert call("gate", folder, "--policy", path).code == code
    assert call("run", "coin.toml", "--out", folder, "--policy", path).code == code
    assert call("judge", folder).code == code
    assert call("gate", folder).code == code


def test_gate_leaves_the_folder_as_it_is(call, folder, tmp_path):
    before = {path: path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file()}
    call("gate", folder, "--policy", policy(tmp_path, "[limits]\naccuracy = 0.55\n"))
    after = {path: path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file()}
    assert before == after


def test_junit_counts_failures_and_errors(call, folder, tmp_path):
    call("gate", folder, "--policy", policy(tmp_path, "[limits]\naccuracy = 0.55\n"), "--junit", "gate.xml")
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    names = {case.get("name") for case in suite if case.find("failure") is not None}
    assert names == {"risk: coin, peek-nothing", "gate"}
    call("gate", folder, "--policy", policy(tmp_path, "[limits]\naccuracy = 0.73\n"), "--junit", "gate.xml")
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("errors") == "2"


def test_markdown_gives_both_answers(call, folder, tmp_path):
    call("gate", folder, "--policy", policy(tmp_path, "[limits]\naccuracy = 0.55\n"), "--markdown", "gate.md")
    text = (tmp_path / "gate.md").read_text()
    assert "- **Risk over the limit.**" in text
    assert "- **Promise not violated" in text
    assert "your limit is 55%" in text
    assert "| not violated, too weak | over |" in text
    assert "- Exit code 1: the risk is over the limit." in text


def test_every_limit_is_listed_with_its_own_status(call, folder, tmp_path):
    """The attacker is right 73.1 % of the time, and nobody stated what it may find at 1 % false alarms."""
    table = '[limits]\naccuracy = 0.55\nauc = 0.99\n"tpr_at_fpr_0.01" = 0.05\n'
    path = policy(tmp_path, table)
    call("gate", folder, "--policy", path, "--junit", "gate.xml", "--markdown", "gate.md")
    cases = ElementTree.parse(tmp_path / "gate.xml").getroot()
    kinds = {case.get("name"): [child.tag for child in case] for case in cases if len(case.get("name")) > 4}
    assert kinds["limit: accuracy"] == ["failure"]
    assert kinds["limit: auc"] == []
    assert kinds["limit: tpr_at_fpr_0.01"] == ["error"]
    text = (tmp_path / "gate.md").read_text()
    assert "  - Correct identifications, limit 55%: over; " in text
    assert "  - AUC, limit 0.99: within; " in text
    assert "  - Members found, 1% wrongly accused, limit 5%: undecided; " in text
    outcome = call("judge", folder, "--policy", path)
    listed = [line for line in outcome.out.splitlines() if line.startswith("  - ")]
    assert [line.split(";")[0].split(": ")[1] for line in listed] == ["over", "within", "undecided"]
    summary = json.loads((tmp_path / folder / "verdicts.json").read_text())["summary"]
    found = {entry["metric"]: entry for entry in summary["limit_results"]}
    assert list(found) == ["accuracy", "auc", "tpr_at_fpr_0.01"]
    assert found["accuracy"]["low"] > 0.55
    assert found["auc"]["high"] < 0.99
    assert (found["auc"]["audit"], found["auc"]["attacker"]) == ("coin", "peek-nothing")
    assert "by_limit" not in summary["risk"]
    call("report", folder, "--policy", path)
    page = (tmp_path / folder / "report.html").read_text()
    assert page.count("AUC, limit 0.99: <b>within</b>") == 1


def test_a_baseline_stops_a_release_that_leaks_more(call, folder, plan):
    worse = plan(("mechanism = { epsilon = 1.0 }", "mechanism = { epsilon = 3.0 }"), ("1.0 }", "4.0 }"))
    call("run", worse, "--out", "worse")
    assert call("gate", "worse", "--baseline", folder).code == 1
    assert call("gate", folder, "--baseline", "worse").code == 0
    assert call("gate", folder, "--baseline", folder).code == 0  # the same trials
    found = json.loads(call("gate", "worse", "--baseline", folder, "--json").out)
    assert [entry["status"] for entry in found["baseline"]] == ["worse"]
    assert found["summary"]["exit_code"] == 1
    assert "worse than the baseline: coin peek-nothing" in found["summary"]["reasons"]


def test_only_what_decides_stands_behind_the_exit_code(call, folder, plan, tmp_path):
    """A release that is worse fails; that its risk is undecided, which would be code 3, is said besides."""
    worse = plan(("mechanism = { epsilon = 1.0 }", "mechanism = { epsilon = 3.0 }"), ("1.0 }", "4.0 }"))
    call("run", worse, "--out", "worse")
    path = policy(tmp_path, "[limits]\naccuracy = 0.95\n")
    arguments = ["gate", "worse", "--policy", path, "--baseline", folder]
    outcome = call(*arguments, "--junit", "gate.xml", "--markdown", "gate.md")
    lines = outcome.out.splitlines()
    assert outcome.code == 1
    assert [line for line in lines if line.startswith("Exit code")] == [
        "Exit code 1: worse than the baseline: coin peek-nothing."
    ]
    assert [line.partition(" (see")[0] for line in lines if line.startswith("Besides")] == [
        "Besides: the risk is undecided"
    ]
    case = ElementTree.parse(tmp_path / "gate.xml").find("testcase[@name='gate']/failure")
    assert case is not None
    assert case.get("message") == "worse than the baseline: coin peek-nothing"
    assert "- Besides: the risk is undecided" in (tmp_path / "gate.md").read_text()
    summary = json.loads(call(*arguments, "--json").out)["summary"]
    assert (len(summary["reasons"]), len(summary["besides"])) == (1, 1)


def test_a_baseline_without_the_same_attacker_is_refused(call, folder, plan):
    call("run", plan(('name = "coin"', 'name = "another"')), "--out", "other")
    outcome = call("gate", folder, "--baseline", "other")
    assert outcome.code == 2
    assert "no attacker of the same audit and label" in outcome.err


@pytest.mark.parametrize("words", [("gate", "nowhere"), ("gate", "here", "--policy", "absent.toml")])
def test_bad_input_is_one_line(call, folder, words):
    outcome = call(*words)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1


def test_plan_given_as_policy_is_refused_as_such(call, folder, plan):
    for words in (("gate", folder), ("run", plan()), ("judge", folder)):
        outcome = call(*words, "--policy", plan(more="[limits]\naccuracy = 0.6\n"))
        assert (outcome.code, outcome.err.count("\n")) == (2, 1)
        assert "coin.toml: this is a plan, and a policy has a table [limits] and nothing else" in outcome.err


def test_an_incomplete_run_does_not_pass(call, folder, tmp_path):
    next((tmp_path / folder).rglob("block-00000001.npz")).unlink()
    assert call("gate", folder).code == 3


def test_rounds_added_after_a_look_need_bounds_for_any_time(call, folder, plan, tmp_path):
    """Accuracy has such bounds, AUC has none."""
    path = policy(tmp_path, "[limits]\naccuracy = 0.95\n")
    call("run", plan(("rounds = 200", "rounds = 400")), "--out", folder)
    outcome = call("gate", folder, "--policy", path)
    assert outcome.code == 0, outcome.out


def test_rounds_added_after_a_look_leave_the_risk_undecided(call, folder, plan, tmp_path):
    path = policy(tmp_path, "[limits]\nauc = 0.95\n")
    assert call("gate", folder, "--policy", path).code == 0
    call("run", plan(("rounds = 200", "rounds = 400")), "--out", folder)
    outcome = call("gate", folder, "--policy", path)
    assert outcome.code == 3
    assert "The number of rounds was changed after the result of 200 rounds was known" in outcome.out
    call("run", plan(("rounds = 200", "rounds = 400")), "--out", folder, "--fresh")  # the same seed
    assert call("gate", folder, "--policy", path).code == 3
    call("run", plan(("rounds = 200", "rounds = 400")), "--out", folder, "--fresh", "--seed", "8")
    assert call("gate", folder, "--policy", path).code == 0
    call("run", plan(), "--out", "fewer")
    call("run", plan(("rounds = 200", "rounds = 100")), "--out", "fewer")
    assert call("gate", "fewer", "--policy", path).code == 3
    call("run", plan(), "--out", "fewer")  # as it was planned first
    assert call("gate", "fewer", "--policy", path).code == 0


def test_rounds_of_an_audit_that_may_be_looked_at_any_time_may_be_raised(call, plan):
    decided = ("block = 100", 'block = 100\nstop = "decided"')
    call("run", plan(decided), "--out", "any")
    call("run", plan(("rounds = 200", "rounds = 400"), decided), "--out", "any")
    summary = json.loads(Path("any/verdicts.json").read_text())["summary"]
    assert summary["warnings"] == []


def test_limits_without_a_limit_are_refused(call, folder, tmp_path):
    for text in ("[limits]\n", '[limits]\nattackers = ["nothing"]\n'):
        outcome = call("gate", folder, "--policy", policy(tmp_path, text))
        assert outcome.code == 2
        assert "no limit in it" in outcome.err
