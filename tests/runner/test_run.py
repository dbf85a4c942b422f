import json
import os
import shutil
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.limits import Limits
from leakgauge.plan import plan_without_rounds
from leakgauge.runner import manifest, run
from leakgauge.runner.block_store import BlockStore, split_rounds
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.run import EngineOptions, run_plan, set_up_run
from leakgauge.runner.run_verdicts import judge_folder
from leakgauge.runner.worker_tasks import WorkerError
from leakgauge.support.files import json_digest
from leakgauge.support.table_reader import read_dataclass
from leakgauge.verdict import verdicts_to_json
from night import others_at_night


def files(folder):
    """Everything that decides a verdict, byte by byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("block-*"))}


def count_plays(monkeypatch):
    """Watch which blocks are saved."""
    saved, save = [], BlockStore.save

    def watch(self, block, trials):
        saved.append(block.index)
        save(self, block, trials)

    monkeypatch.setattr(BlockStore, "save", watch)
    return saved


def test_run_folder_has_documented_files(plan, tmp_path):
    verdicts = run_plan(plan(attacks='["peek", "sleep"]'), tmp_path / "out")
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        "plan.toml",
        "manifest.json",
        "audits",
        "verdicts.json",
        "lock",
    }
    assert set(files(out)) == {
        f"audits/coin/{label}/block-{n:08d}.npz"
        for label in ("peek-nothing", "sleep-nothing")
        for n in range(4)
    }
    assert (out / "plan.toml").read_text() == (tmp_path / "plan.toml").read_text()
    written = json.loads((out / "verdicts.json").read_text())
    assert written["schema"] == 2
    assert written["summary"]["exit_code"] == verdicts.summary.exit_code
    assert [table["label"] for table in written["verdicts"]] == [verdict.label for verdict in verdicts]
    assert [verdict.rounds for verdict in verdicts] == [100, 100]
    assert [verdict.corrected_for for verdict in verdicts] == [2, 2]
    assert verdicts[0].parameters == {
        "data": {},
        "challenger": {"promised": 1.0},
        "mechanism": {"epsilon": 1.0},
        "attack": {},
    }


def test_trials_match_direct_simulation(plan, tmp_path):
    """Played without the runner: the streams of seed, role and block decide every number."""
    from leakgauge.domains.coin.attacks.peek import Attack
    from leakgauge.domains.coin.challenger import Challenger
    from leakgauge.domains.coin.knowledge import Nothing

    given = plan()
    run_plan(given, tmp_path / "out")
    knowledge = Nothing()
    adversary = Adversary(knowledge, Attack().study(knowledge, stream(7, Role.STUDY)))
    challenger = read_dataclass(Challenger, {"epsilon": 1.0, "promised": 1.0}, "")
    described, _ = set_up_run(given)
    store = described.stores(tmp_path / "out", given.audits[0])["peek-nothing"]
    for block in split_rounds(100, 30):
        expected = play(challenger, {"it": adversary}, 7, block.rounds, block.index)["it"]
        np.testing.assert_array_equal(store.load(block).scores, expected.scores)
        np.testing.assert_array_equal(store.load(block).members, expected.members)
        assert store.load(block).reading == expected.reading


def test_finished_run_repeats_nothing(plan, tmp_path, monkeypatch):
    first = run_plan(plan(), tmp_path / "out")
    monkeypatch.setattr(run, "study_attacks", lambda *_: pytest.fail("studied again"))
    assert run_plan(plan(), tmp_path / "out") == first


def flip_a_bit_of_the_scores(path):
    """Change one bit of the compressed scores, not of a header, of which some bits mean nothing."""
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("scores.npy")
    content = bytearray(path.read_bytes())
    name, extra = struct.unpack_from("<HH", content, entry.header_offset + 26)  # lengths in its header
    content[entry.header_offset + 30 + name + extra + entry.compress_size // 2] ^= 4
    path.write_bytes(content)


def test_missing_damaged_and_truncated_blocks_are_rerun(plan, tmp_path, monkeypatch):
    run_plan(plan(), tmp_path / "out")
    whole = files(tmp_path / "out")
    paths = sorted((tmp_path / "out").rglob("block-*"))
    paths[0].unlink()
    paths[1].write_bytes(paths[1].read_bytes()[:-10])
    flip_a_bit_of_the_scores(paths[3])
    saved = count_plays(monkeypatch)
    run_plan(plan(), tmp_path / "out")
    assert saved == [0, 1, 3]
    assert files(tmp_path / "out") == whole


def test_temporary_files_are_removed(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    leftover = tmp_path / "out" / "audits" / "coin" / "peek-nothing" / "block-00000001.npz.17.partial"
    leftover.write_bytes(b"half")
    run_plan(plan(), tmp_path / "out")
    assert not leftover.exists()


def test_raising_rounds_continues_the_run(plan, tmp_path, monkeypatch):
    run_plan(plan(rounds=100), tmp_path / "out")
    saved = count_plays(monkeypatch)
    verdicts = run_plan(plan(rounds=150), tmp_path / "out")
    assert saved == [3, 4], "the last block had 10 rounds and has 30 now"
    assert verdicts[0].rounds == 150
    assert "rounds = 150" in (tmp_path / "out" / "plan.toml").read_text()
    run_plan(plan(rounds=150), tmp_path / "fresh")
    assert files(tmp_path / "out") == files(tmp_path / "fresh")


@pytest.fixture
def _coins_travel():
    """Let the test domain travel by value: workers do not know where it is."""
    from importlib import import_module

    import cloudpickle

    names = ("challenger", "knowledge", "attacks.peek", "attacks.sleep")
    modules = [import_module(f"leakgauge.domains.coin.{name}") for name in names]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.usefixtures("_coins_travel")
@pytest.mark.parametrize(
    "engine",
    others_at_night(["local", "dask", "ray"], "local"),
)
def test_engine_and_workers_do_not_change_trials(plan, tmp_path, engine):
    given = plan(attacks='["peek", "sleep"]', challenger="{ promised = 1.0, targets = 4 }")
    one = run_plan(given, tmp_path / "one")
    two = run_plan(given, tmp_path / "two", EngineOptions(engine=engine, workers=2))
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert verdicts_to_json(one) == verdicts_to_json(two)


def test_failed_block_is_not_saved_but_others_are(plan, tmp_path):
    broken = plan(challenger="{ promised = 1.0, fails_at = 10 }")  # the last block has 10 rounds
    with pytest.raises(
        IncompleteRun, match=r"'coin' ended with ZeroDivisionError: the coin broke.*continue with:"
    ) as caught:
        run_plan(broken, tmp_path / "out")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__notes__ == ["while running rounds 90 to 99"]
    assert len(files(tmp_path / "out")) == 3
    assert not (tmp_path / "out" / "verdicts.json").exists()


def test_bad_input_in_a_block_names_its_rounds(plan, tmp_path, monkeypatch):
    plan()
    from leakgauge.domains.coin.attacks import peek

    monkeypatch.setattr(peek, "Reading", lambda **_: None)

    def study(self, knowledge, rng):
        return peek.Scorer(lambda view, rng: np.full(view.shape, np.nan))

    monkeypatch.setattr(peek.Attack, "study", study)
    with pytest.raises(BadInput, match=r"audit 'coin': rounds 0 to 29: round 0, target 0: the score nan"):
        run_plan(plan(), tmp_path / "out")
    assert files(tmp_path / "out") == {}


def test_rejects_different_plan_and_keeps_folder(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    for change, message in [
        ({"mechanism": "{ epsilon = 2.0 }"}, r"plan.audits\[0\].mechanism.epsilon was 1.0, is 2.0"),
        ({"seed": 8}, "plan.seed was 7, is 8"),
        ({"block": 31}, r"plan.audits\[0\].block was 30, is 31"),
        ({"attacks": '["peek", "sleep"]'}, r"contenders had 1 entries, has 2"),
        ({"data": "{ extra = 1 }"}, r"data.extra was added"),
    ]:
        with pytest.raises(BadInput, match=rf"holds another run: .*{message}; choose another --out"):
            run_plan(plan(**change), tmp_path / "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before
    run_plan(plan(), tmp_path / "out")


def test_rejects_other_data(plan, tmp_path):
    (tmp_path / "people.csv").write_text("a")
    settings = {"data": '{ source = "people.csv" }'}
    run_plan(plan(**settings), tmp_path / "out")
    (tmp_path / "people.csv").write_text("b")
    with pytest.raises(BadInput, match="the data or code behind audit 'coin' changed"):
        run_plan(plan(**settings), tmp_path / "out")


def test_rejects_data_changed_during_setup(plan, tmp_path):
    given = plan(data='{ source = "people.csv" }', sweep='{ "mechanism.epsilon" = [1.0, 2.0] }')
    (tmp_path / "people.csv").write_text("a")
    described, games = set_up_run(given)
    assert games == {}, "two games are set up in turn, not kept side by side"
    (tmp_path / "people.csv").write_text("b")
    audit = given.audits[0]
    with pytest.raises(BadInput, match="the data changed while the run was starting"):
        run._play_audit(audit, described, tmp_path / "out", InProcessEngine(), lambda *_: None, None)


@pytest.mark.parametrize("name", ["thesis.txt", "plan.toml", "audits"])
def test_folder_with_other_files_is_not_used(plan, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(BadInput, match="not empty and not a run folder; choose another --out"):
        run_plan(plan(), out)
    assert {path.name: path.read_text() for path in out.iterdir()} == {name: "mine"}


@pytest.mark.parametrize(
    "change", [{"plan": "of another plan"}, {"audits": [{"audit": "coin", "data": "x"}]}]
)
def test_folder_with_the_exposure_of_something_else_is_refused(plan, tmp_path, change):
    out = tmp_path / "out"
    out.mkdir()
    exposure = {"schema": 1, "plan": json_digest(plan_without_rounds(plan())), "audits": []}

    def write(content):
        (out / "exposure.json").write_text(json.dumps({**content, "checksum": json_digest(content)}))

    write({**exposure, **change})
    with pytest.raises(
        BadInput, match="holds the exposure of another plan or of other data; remove the files"
    ):
        run_plan(plan(), out)
    assert {path.name for path in out.iterdir()} <= {"exposure.json", "lock"}
    write(exposure)
    run_plan(plan(), out)
    assert (out / "exposure.json").exists()
    write({**exposure, **change})
    run_plan(plan(), out, fresh=True)
    assert not (out / "exposure.json").exists()


def test_run_without_manifest_can_be_restarted(plan, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "lock").touch()
    (out / "manifest.json.17.partial").write_text("{")
    run_plan(plan(), out)
    assert not list(out.glob("*.partial"))


def test_rejects_file_as_run_folder(plan, tmp_path):
    with pytest.raises(BadInput, match="cannot be a run folder"):
        run_plan(plan(), tmp_path / "plan.toml")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"schema": "2"}', '{"schema": 2}', '{"schema": 2, "checksum": ""}'],
)
@pytest.mark.parametrize("blocks", [True, False])
def test_damaged_manifest_is_rejected(plan, tmp_path, content, blocks):
    run_plan(plan(), tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text(content)
    if not blocks:
        shutil.rmtree(tmp_path / "out" / "audits")
    with pytest.raises(BadInput, match="damaged, or not of a run; restore it from a copy, or run"):
        run_plan(plan(), tmp_path / "out")


def test_edited_manifest_is_rejected(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    text = path.read_text()
    assert '"epsilon": 1.0' in text
    path.write_text(text.replace('"epsilon": 1.0', '"epsilon": 9.0'))
    with pytest.raises(BadInput, match="damaged"):
        manifest.load(tmp_path / "out")


def test_manifest_of_other_version_is_rejected(tmp_path):
    (tmp_path / "manifest.json").write_text('{"schema": 3}')
    with pytest.raises(BadInput, match="written by another version"):
        manifest.load(tmp_path)


def test_manifest_has_no_absolute_path(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text()


def test_early_stopping_ends_at_the_deciding_block(plan, tmp_path):
    lying = {"stop": '"decided"', "mechanism": "{ epsilon = 4.0 }", "rounds": 2000, "block": 20}
    lying["challenger"] = "{ promised = 0.5 }"
    [verdict] = run_plan(plan(**lying), tmp_path / "out")
    assert verdict.stopped_early
    assert verdict.finding == "violated"
    played = len(files(tmp_path / "out"))
    assert verdict.rounds == played * 20 < 2000
    for path in (tmp_path / "out").rglob("block-*"):
        if path.name > f"block-{played - 2:08d}":
            path.unlink()
    with pytest.raises(IncompleteRun):
        run.judge_run(set_up_run(plan(**lying))[0], manifest.load(tmp_path / "out"), tmp_path / "out")


def test_stopping_point_does_not_depend_on_workers(plan, tmp_path, monkeypatch):
    lying = {"stop": '"decided"', "mechanism": "{ epsilon = 4.0 }", "rounds": 2000, "block": 20}
    lying["challenger"] = "{ promised = 0.5 }"
    given = plan(**lying)
    [one] = run_plan(given, tmp_path / "one")
    waves = run._block_batches
    monkeypatch.setattr(run, "_block_batches", lambda audit, _: waves(audit, 7))
    [seven] = run_plan(given, tmp_path / "seven")
    assert len(files(tmp_path / "seven")) > len(files(tmp_path / "one"))
    assert one == seven


@pytest.mark.parametrize(("limit", "status"), [(0.9, "within"), (0.6, "over")])
def test_early_stopping_ends_where_the_limit_is_decided(plan, tmp_path, limit, status):
    """Right with a chance of .73: both limits are decided long before the last round."""
    settings = {"stop": '"decided"', "rounds": 4000, "block": 50, "challenger": "{ }"}
    given = plan(top=f"limits.accuracy = {limit}", **settings)
    result = run_plan(given, tmp_path / "out")
    [found] = result
    assert found.stopped_early
    assert found.rounds < 2000
    assert found.risk.status == status
    assert found.metrics["accuracy_own"].low is not None
    assert "confidence sequence" in found.metrics["accuracy_own"].method
    assert found.metrics["auc"].low is None
    other = judge_folder(tmp_path / "out", Limits(metrics={"accuracy": found.risk.value}))
    assert [(each.rounds, each.risk.status) for each in other] == [(found.rounds, "undecided")]


def test_undecided_audit_runs_all_rounds(plan, tmp_path):
    [verdict] = run_plan(plan(stop='"decided"'), tmp_path / "out")
    assert not verdict.stopped_early
    assert verdict.rounds == 100
    assert "e-process" in verdict.metrics["epsilon"].method


@pytest.mark.parametrize(
    ("challenger", "message"),
    [
        ("{ }", "there is neither a promise nor a limit"),
        ('{ promised = 1.0, coins = "given" }', "needs membership assigned at random"),
        ("{ promised = 1.0, delta = 1e-5, targets = 2 }", "needs one target per round"),
    ],
)
def test_early_stopping_needs_e_process(plan, tmp_path, challenger, message):
    with pytest.raises(BadInput, match=f"stop = 'rounds' can: .*{message}"):
        run_plan(plan(stop='"decided"', challenger=challenger), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_irreproducible_study_is_detected(plan, tmp_path, monkeypatch):
    from leakgauge.domains.coin.attacks import peek

    run_plan(plan(), tmp_path / "out")
    next((tmp_path / "out").rglob("block-*")).unlink()
    monkeypatch.setattr(peek, "parallel_map", lambda *_: [0.25])
    with pytest.raises(BadInput, match="trained differently when the run was continued"):
        run_plan(plan(), tmp_path / "out")


def test_plan_from_python_is_saved_and_reads_back(plan, tmp_path):
    given = replace(
        plan(attacks='[{ name = "peek", noise = 0.5, knowledge = { name = "nothing", shift = 0.1 } }]'),
        path=None,
        text=None,
    )
    run_plan(given, tmp_path / "out")
    from leakgauge.plan import read_plan

    again = read_plan(tmp_path / "out" / "plan.toml")
    assert (again.audits, again.seed) == (given.audits, given.seed)
    next((tmp_path / "out").rglob("block-*")).unlink()
    with pytest.raises(IncompleteRun, match=r"continue with: leakgauge.run\(plan, out="):
        run.judge_run(set_up_run(given)[0], manifest.load(tmp_path / "out"), tmp_path / "out")


def test_continue_command_names_plan_folder_and_seed(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from leakgauge.plan import read_plan

    plan()
    run_plan(read_plan("plan.toml", seed=11), Path("runs/x"))
    content = manifest.load(Path("runs/x"))
    assert (
        manifest.how_to_continue(content, Path("runs/x")) == "leakgauge run plan.toml --out runs/x --seed 11"
    )
    assert Path("runs/x/plan.toml").read_text().startswith("# run with --seed 11\n")


def test_rejects_bad_engine_before_anything_is_written(plan, tmp_path):
    with pytest.raises(BadInput, match="workers must be >= 1"):
        run_plan(plan(), tmp_path / "out", EngineOptions(workers=0))
    assert not (tmp_path / "out").exists()


def test_studies_use_the_workers(plan, tmp_path, monkeypatch):
    from leakgauge.domains.coin.attacks import peek

    seen, spread = [], peek.parallel_map

    def watch(task, items):
        found = spread(lambda item: (os.getpid(), task(item)), items)
        seen.extend(pid for pid, _ in found)
        return [value for _, value in found]

    monkeypatch.setattr(peek, "parallel_map", watch)
    _, games = set_up_run(plan())
    from leakgauge.runner.engines import open_engine
    from leakgauge.runner.play_block import study_attacks

    with open_engine("local", 2) as engine:
        study_attacks(games["coin"], 7, engine)
    assert seen
    assert os.getpid() not in seen


def test_worker_error_is_reported_once():
    error = WorkerError("ZeroDivisionError: x")
    audit = type("A", (), {"name": "a"})
    with (
        pytest.raises(IncompleteRun, match=r"^audit 'a' ended with ZeroDivisionError: x; "),
        run._run_error_context(audit, ""),
    ):
        raise error


def test_folder_without_blocks_may_be_reused(plan, tmp_path, monkeypatch):
    def broken(*_):
        raise BadInput("the release raised an error")

    with monkeypatch.context() as patched:
        patched.setattr(run, "study_attacks", broken)
        with pytest.raises(BadInput, match="the release raised an error"):
            run_plan(plan(), tmp_path / "out")
    other = replace(plan(), seed=plan().seed + 1)
    assert run_plan(other, tmp_path / "out")[0].seed == other.seed
