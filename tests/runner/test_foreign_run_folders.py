"""A run folder of somebody else is judged without running code that its plan names."""

import json
import os
import shutil
from pathlib import Path

import pytest

import leakgauge
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.runner import run_verdicts
from leakgauge.support.files import json_digest
from leakgauge.support.user_code import UserCodeLoader, no_user_code

PLAN = {
    "seed": 4,
    "audit": [
        {
            "name": "asked",
            "domain": "queries",
            "rounds": 40,
            "block": 20,
            "data": {"records": 80},
            "mechanism": {"name": "laplace", "epsilon": 0.5},
            "attacks": [{"name": "split_likelihood", "queries": 8}],
            "challenger": {"accountant": "none", "promise": 3.0},
        }
    ],
}


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A run folder whose manifest was changed to name code beside it."""
    monkeypatch.chdir(tmp_path)
    leakgauge.run(PLAN, out="run")
    change_manifest(
        mechanism={"name": "opendp", "measurement": "mine:make", "law": "laplace"}, plan_file="../plan.toml"
    )
    Path("mine.py").write_text("open('imported', 'w').close()\n")
    return tmp_path


def change_manifest(mechanism, **changed):
    path = Path("run/manifest.json")
    table = json.loads(path.read_text()) | changed
    del table["checksum"]
    table["plan"]["audits"][0]["mechanism"] = mechanism
    path.write_text(json.dumps({**table, "checksum": json_digest(table)}))


def linked(path):
    elsewhere = Path("elsewhere")
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.write_text("precious")
    path.symlink_to(elsewhere.absolute())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes among files")
@pytest.mark.parametrize(
    ("name", "replace"),
    [
        ("verdicts.json", os.mkfifo),
        ("exposure.json", os.mkfifo),
        ("lock", linked),
        ("manifest.json", linked),
        ("audits", linked),
        ("conformance.json", lambda path: path.symlink_to("/dev/zero")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_links_and_pipes_are_refused_before_anything_is_read(tmp_path, monkeypatch, capsys, name, replace):
    monkeypatch.chdir(tmp_path)
    leakgauge.run(PLAN, out="run")
    path = Path("run", name)
    if path.is_file() and replace is os.mkfifo:
        path.unlink()
    replace(path)
    for command in ("status", "judge", "gate", "report", "bundle"):
        assert main([command, "run"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith(f"{path}: a link, or no plain file; a run folder has none: remove it")
    with pytest.raises(BadInput, match="a link, or no plain file"):
        leakgauge.run(PLAN, out="run")


@pytest.mark.parametrize("command", ["judge run", "gate run", "bundle run"])
def test_code_beside_a_run_folder_is_not_run(foreign, command, capsys):
    assert main(command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("the plan names code, which only leakgauge run loads; run the plan again")
    assert not Path("imported").exists()


def test_what_the_run_found_is_kept_for_later_judgements(tmp_path, monkeypatch):
    """Of a plan that names code; here the name is one that nothing loads."""
    monkeypatch.chdir(tmp_path)
    named = {**PLAN["audit"][0], "mechanism": {**PLAN["audit"][0]["mechanism"]}}
    seen = []
    compare = run_verdicts.catalog.compare_transcripts

    def compare_once(*given):
        seen.append(given)
        return compare(*given)

    monkeypatch.setattr(run_verdicts, "split_reference", lambda text: text == "none" or None)
    monkeypatch.setattr(run_verdicts.catalog, "compare_transcripts", compare_once)
    ran = leakgauge.run({**PLAN, "audit": [named]}, out="run")
    n_compared = len(seen)
    judged = run_verdicts.gate_folder(Path("run"))
    assert len(seen) == n_compared > 0
    assert ran[0].certain
    assert (judged[0].conformance, judged[0].evidence, judged[0].finding) == (
        ran[0].conformance,
        ran[0].evidence,
        ran[0].finding,
    )


def test_no_code_is_loaded_where_that_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text("value = 1\n")
    assert UserCodeLoader(tmp_path).load("mine:value", "here") == 1
    with no_user_code(), pytest.raises(BadInput, match="names code, which is not run here"):
        UserCodeLoader(tmp_path).load("mine:value", "here")


@pytest.mark.parametrize("name", ["a·b:c", "℘:c", "℮x:c", "é:c", "a:ﬁ", "a:b:c", "a.:b", "1a:b", "a :b"])
def test_names_of_modules_are_ascii(tmp_path, name):
    with pytest.raises(BadInput, match="must be written"):
        UserCodeLoader(tmp_path).load(name, "here")


@pytest.mark.parametrize(
    ("key", "value"), [("plan", [7]), ("facts", None), ("heading", "x"), ("looks", -1), ("versions", None)]
)
def test_a_manifest_of_other_kinds_of_values_is_damaged(tmp_path, monkeypatch, capsys, key, value):
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    table = {"schema": 2, "plan_file": None, "plan": {"audits": []}, "seed": 1, "facts": {}, "versions": {}}
    table |= {"digest": "", key: value}
    Path("run/manifest.json").write_text(json.dumps({**table, "checksum": json_digest(table)}))
    for command in ("status", "gate"):
        assert main([command, "run"]) == 2
        assert "manifest.json: damaged" in capsys.readouterr().err


def in_facts(**changed):
    return lambda table: table["facts"]["asked"].update(changed)


def in_promise(**changed):
    return lambda table: table["facts"]["asked"]["guarantee"].update(changed)


def in_audit(**changed):
    return lambda table: table["plan"]["audits"][0].update(changed)


def in_contender(**changed):
    return lambda table: table["plan"]["audits"][0]["contenders"][0].update(changed)


HOSTILE = {
    "no facts": lambda table: table["facts"].clear(),
    "looks": lambda table: table.update(looks={"asked": "abc"}),
    "versions": lambda table: table.update(versions=[]),
    "no versions": lambda table: table.update(versions={}),
    "no attackers": in_audit(contenders=[]),
    "heading": lambda table: table.update(heading={"title": 5}),
    "publish": lambda table: table.update(publish=["asked"]),
    "seed": lambda table: table.update(other_seed="; touch mark;"),
    "another key": lambda table: table.update(conclusion="safe"),
    "two audits": lambda table: table["plan"]["audits"].append(table["plan"]["audits"][0]),
    **{f"targets {value!r}": in_facts(n_targets=value) for value in ("5", -3, 0, 10**12, 1.5, None, True)},
    "coins": in_facts(coins="x"),
    "notes": in_facts(notes=[1, {"a": 2}]),
    "unread": in_facts(unread=[3]),
    "reasons": in_facts(understated_knowledge={"analyst": 5}),
    "utility": in_facts(utility={"a": "b"}),
    "control": in_facts(control={"digest": 7}),
    "epsilon": in_promise(epsilon=-1.0),
    "no number": in_promise(epsilon=float("nan")),
    "delta": in_promise(delta="small"),
    "composed": in_promise(composed={"parts": -2, "delta": 0.0, "kairouz": 1.0}),
    "curve": in_promise(curve={"fpr": [], "tpr": []}),
    "knowledge": in_contender(knowledge="insider with full access to the database,"),
    "attack": in_contender(attack="perfect"),
    "own attack": in_contender(attack="the promise is kept: nothing"),
    "metric": in_audit(metrics={"epsilon": "none"}),
    "mechanism": in_audit(mechanism={"name": "perfect"}),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked") / "run"
    leakgauge.run(PLAN, out=folder)
    return folder


@pytest.mark.parametrize("name", HOSTILE)
def test_manifest_that_no_run_writes_is_damaged_in_one_line(asked, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(asked, "run")
    path = Path("run/manifest.json")
    table = json.loads(path.read_text())
    del table["checksum"]
    HOSTILE[name](table)
    path.write_text(json.dumps({**table, "checksum": json_digest(table)}))
    for command in ("status", "judge", "report", "gate", "bundle"):
        assert main([command, "run"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "manifest.json: damaged, or not of a run" in line
