"""A run is continued with the same plan, data, code and library versions, and refused with any other."""

import shutil
from importlib import metadata

import pytest

import leakgauge.domains
from leakgauge.core.errors import ANOTHER_OUT, START_OVER, BadInput
from leakgauge.plan import plan_of
from leakgauge.runner import code_digest, manifest
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.library_versions import VersionGuard, installed_versions
from leakgauge.runner.run import run_plan
from leakgauge.runner.run_verdicts import judge_folder
from leakgauge.runner.status import run_status
from night import others_at_night

PLAN = {
    "seed": 7,
    "audit": [
        {
            "name": "noise",
            "domain": "blackbox",
            "rounds": 60,
            "block": 20,
            "mechanism": {"name": "laplace", "epsilon": 1.0},
            "challenger": {"pair": [0, 1]},
            "attacks": ["one_threshold"],
        }
    ],
}


OR_ELSE = f"; or {START_OVER}, or {ANOTHER_OUT}"


def state(folder):
    """All that a run leaves, byte by byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the sources that the digests are taken from; what runs is the package as it was imported."""
    root = tmp_path / "leakgauge"
    shutil.copytree(code_digest.ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code_digest, "ROOT", root)
    path = [str(root / "domains"), *leakgauge.domains.__path__]
    monkeypatch.setattr(leakgauge.domains, "__path__", path)
    return root


@pytest.fixture
def begun(tmp_path, sources):
    """A run whose second block is missing, and the same run when it was whole."""
    folder = tmp_path / "out"
    run_plan(plan_of(PLAN), folder)
    whole = state(folder)
    second_block(folder).unlink()
    return folder, whole


def second_block(folder):
    return folder / "audits" / "noise" / "one_threshold-law" / "block-00000001.npz"


def comment(path):
    assert path.exists()
    with path.open("a") as file:
        file.write("# a comment\n")


def test_the_block_that_is_missing_is_the_one_that_comes_back(begun):
    folder, whole = begun
    assert second_block(folder).relative_to(folder).as_posix() in whole
    run_plan(plan_of(PLAN), folder)
    assert state(folder) == whole


@pytest.mark.parametrize(
    "file",
    others_at_night(
        [
            "report/page.py",
            "cli/main.py",
            "api.py",
            "verdict.py",
            "version.py",
            "runner/run.py",
            "domains/locations/challenger.py",
            "papers/reproduction.py",
        ],
        "report/page.py",
        "verdict.py",
        "domains/locations/challenger.py",
    ),
)
def test_a_change_that_decides_no_trial_lets_a_run_continue(begun, sources, file):
    folder, whole = begun
    comment(sources / file)
    run_plan(plan_of(PLAN), folder)
    assert state(folder) == whole


@pytest.mark.parametrize(
    "file",
    [
        "core/game.py",
        "domains/blackbox/challenger.py",
        "domains/blackbox/attacks/one_threshold.py",
        "mechanisms/laplace.py",
        "referee/metrics/auc.py",
        "plan.py",
        "catalog.py",
        "runner/play_block.py",
    ],
)
def test_a_change_of_code_that_decides_trials_is_refused_by_the_name_of_the_file(begun, sources, file):
    folder, _ = begun
    before = state(folder)
    comment(sources / file)
    with pytest.raises(BadInput) as caught:
        run_plan(plan_of(PLAN), folder)
    assert str(caught.value) == (
        f"{folder} cannot be continued: leakgauge itself changed: {file}; use the code that began it "
        f"(leakgauge {leakgauge.__version__}){OR_ELSE}"
    )
    assert state(folder) == before
    assert run_status(folder).obstacle in str(caught.value)


def test_all_files_that_changed_are_named_up_to_five(begun, sources):
    folder, _ = begun
    names = sorted(["core/game.py", "core/errors.py", "plan.py", "catalog.py", "mechanisms/laplace.py"])
    for name in names:
        comment(sources / name)
    with pytest.raises(BadInput, match=f"changed: {', '.join(names)}; use"):
        run_plan(plan_of(PLAN), folder)
    (sources / "domains" / "blackbox" / "added.py").write_text("")
    (sources / "core" / "randomness.py").unlink()
    with pytest.raises(BadInput, match=r"core/randomness.py, domains/blackbox/added.py and 2 more; use"):
        run_plan(plan_of(PLAN), folder)


def test_a_complete_run_is_judged_by_any_code(tmp_path, sources):
    folder = tmp_path / "out"
    verdicts = run_plan(plan_of(PLAN), folder)
    before = state(folder)
    comment(sources / "core" / "game.py")
    assert run_plan(plan_of(PLAN), folder) == verdicts
    assert judge_folder(folder) == verdicts
    assert state(folder) == before
    assert run_status(folder).obstacle is None
    longer = {**PLAN, "audit": [{**PLAN["audit"][0], "rounds": 80}]}
    with pytest.raises(BadInput, match=r"leakgauge itself changed: core/game.py; use the code that began it"):
        run_plan(plan_of(longer), folder)
    assert state(folder) == before


@pytest.fixture
def install(monkeypatch):
    """Let a library seem to have another version, or none."""
    version = metadata.version

    def change(library, other):
        def changed(name):
            if name != library:
                return version(name)
            if other is None:
                raise metadata.PackageNotFoundError(name)
            return other

        monkeypatch.setattr(metadata, "version", changed)

    return change


@pytest.mark.parametrize("library", ["numpy", "scipy", "scikit-learn"])
def test_other_library_versions_are_refused(begun, install, library):
    folder, whole = begun
    before, old = state(folder), metadata.version(library)
    install(library, "99.1")
    with pytest.raises(BadInput) as caught:
        run_plan(plan_of(PLAN), folder)
    assert str(caught.value) == (
        f"{folder} cannot be continued: its blocks were run with {library} {old}, and this would be run with "
        f"{library} 99.1; install what they were run with{OR_ELSE}"
    )
    assert run_status(folder).obstacle in str(caught.value)
    assert state(folder) == before
    install(library, old)
    run_plan(plan_of(PLAN), folder)
    assert state(folder) == whole


def test_a_library_that_is_gone_is_refused(begun, install):
    folder, _ = begun
    install("scikit-learn", None)
    with pytest.raises(
        BadInput, match=r"run with scikit-learn \S+, and this would be run without scikit-learn"
    ):
        run_plan(plan_of(PLAN), folder)


def test_versions_of_libraries_that_an_audit_does_not_use_may_change(begun, install):
    folder, whole = begun
    install("torch", "99.1")
    run_plan(plan_of(PLAN), folder)
    assert state(folder) == whole


def test_a_complete_run_is_judged_with_any_versions_and_keeps_its_own(tmp_path, install):
    folder, old = tmp_path / "out", metadata.version("numpy")
    verdicts = run_plan(plan_of(PLAN), folder)
    before = state(folder)
    install("numpy", "99.1")
    assert run_plan(plan_of(PLAN), folder) == verdicts
    assert state(folder) == before
    assert manifest.report_fields(folder)["versions"]["numpy"] == old
    assert run_status(folder).versions["numpy"] == old


def test_every_block_keeps_the_versions_it_was_run_with(tmp_path, install):
    folder = tmp_path / "out"
    plan = plan_of(PLAN)
    install("numpy", "99.1")
    run_plan(plan, folder)
    content = manifest.load(folder)
    run = manifest.from_json(content, folder)
    [store] = run.stores(folder, plan.audits[0]).values()
    for block in split_rounds(60, 20):
        found = store.versions_of(block)
        assert found["numpy"] == "99.1"
        assert set(found) == {"numpy", "scipy", "scikit-learn"}
    assert store.versions_of(split_rounds(80, 20)[-1]) is None


def test_a_run_of_the_first_format_is_refused(begun):
    folder, _ = begun
    content = manifest.load(folder) | {"schema": 1}
    manifest.update(content, folder)
    with pytest.raises(BadInput, match="written by another version of leakgauge; use that one"):
        run_plan(plan_of(PLAN), folder)


def test_fresh_starts_over_and_leaves_no_trace_of_the_old_run(begun, tmp_path):
    folder, whole = begun
    for name in ("report.html", "exposure.csv", "exposure.json"):
        (folder / name).write_text("old")
    (folder / "audits" / "old" / "peek").mkdir(parents=True)
    (folder / "audits" / "old" / "peek" / "block-00000000.npz").write_text("old")
    other = {**PLAN, "seed": 8}
    with pytest.raises(BadInput, match=r"plan.seed was 7, is 8; choose another --out .* with --fresh"):
        run_plan(plan_of(other), folder)
    run_plan(plan_of(other), folder, fresh=True)
    run_plan(plan_of(other), tmp_path / "new")
    assert state(folder) == state(tmp_path / "new")
    assert state(folder) != whole


def test_fresh_removes_nothing_that_is_not_of_the_run(begun):
    folder, _ = begun
    mine = [folder / "notes.txt", folder / "audits" / "notes.txt", folder / "audits" / "noise" / "notes.txt"]
    for path in mine:
        path.write_text("mine")
    run_plan(plan_of(PLAN), folder, fresh=True)
    assert [path.read_text() for path in mine] == ["mine"] * 3


def test_fresh_is_refused_where_the_folder_is_no_run_folder(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "film.partial").write_text("mine")
    with pytest.raises(BadInput, match="not empty and not a run folder"):
        run_plan(plan_of(PLAN), folder, fresh=True)
    (folder / "report.html").write_text("mine")
    (folder / "audits" / "old").mkdir(parents=True)
    (folder / "audits" / "old" / "notes.partial").write_text("mine")
    with pytest.raises(BadInput, match="not empty and not a run folder"):
        run_plan(plan_of(PLAN), folder, fresh=True)
    (folder / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(BadInput, match="not of a run"):
        run_plan(plan_of(PLAN), folder, fresh=True)
    (folder / "manifest.json").write_text('{"schema": 2, "name": "a web page"}')
    with pytest.raises(BadInput, match="damaged"):
        run_plan(plan_of(PLAN), folder, fresh=True)
    (folder / "manifest.json").unlink()
    kept = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert kept == dict.fromkeys(["film.partial", "report.html", "audits/old/notes.partial"], "mine")


def test_a_plan_that_cannot_be_run_leaves_the_old_run_alone_even_with_fresh(begun):
    folder, _ = begun
    before = state(folder)
    wrong = {**PLAN, "audit": [{**PLAN["audit"][0], "challenger": {}}]}
    with pytest.raises(BadInput, match="pair"):
        run_plan(plan_of(wrong), folder, fresh=True)
    assert state(folder) == before


def test_fresh_into_a_new_folder_is_an_ordinary_run(tmp_path):
    one, two = (run_plan(plan_of(PLAN), tmp_path / name, fresh=name == "two") for name in ("one", "two"))
    assert one == two


def test_a_worker_with_other_versions_refuses(install):
    versions = installed_versions(["numpy", "no-such-library"])
    assert set(versions) == {"numpy"}
    work = InProcessEngine().load_task(VersionGuard(str, versions))
    assert list(work([1, 2])) == [(0, "1"), (1, "2")]
    install("numpy", "99.1")
    with pytest.raises(
        BadInput, match=rf"a worker has numpy 99.1, .* started it {versions['numpy']}; install"
    ):
        list(work([1]))
