"""Knowledge that differs between rounds: trials, files, verdicts and workers."""

import numpy as np
import pytest

from leakgauge import api
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.plan import plan_of
from leakgauge.runner.block_store import BlockStore, RoundBlock
from leakgauge.runner.early_stop import BlockSequence
from leakgauge.verdict import _over_draws

PLAN = {
    "seed": 7,
    "audit": [
        {
            "name": "table",
            "domain": "locations",
            "rounds": 24,
            "block": 8,
            "data": {"source": "synthetic", "users": 60, "sites": 5, "epochs": 12, "visits": 5},
            "mechanism": {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1},
            "challenger": {"group_size": "everyone", "targets": 3, "splits": 3},
            "attacks": [
                {"name": "likelihood", "knowledge": "informed"},
                {"name": "one_threshold", "knowledge": "auxiliary"},
            ],
        }
    ],
}


def trials(splits, scores, members):
    n = len(scores)
    return Trials(
        np.arange(n),
        np.zeros(n, dtype=np.int64),
        np.array(members, dtype=bool),
        np.array(scores, dtype=float),
        Coins.FAIR,
        Reading(threshold=0.0),
        splits=np.array(splits),
    )


def test_accuracy_is_averaged_over_draws():
    found = _over_draws(trials([0, 0, 1, 1], [1, -1, 1, 1], [1, 0, 1, 0]))
    assert found == {"number": 2.0, "mean": 0.75, "smallest": 0.5, "largest": 1.0}


def test_draws_without_both_worlds_are_left_out():
    assert _over_draws(trials([0, 0, 1], [1, -1, 1], [1, 0, 1])) is None


def test_splits_are_saved_and_put_together(tmp_path):
    store = BlockStore(tmp_path, "run/audit/label")
    parts = [trials([0, 1, 2], [1, 2, 3], [1, 0, 1]), trials([0, 1, 2], [4, 5, 6], [0, 0, 1])]
    sequence = BlockSequence(("a",), None)
    for index, part in enumerate(parts):
        block = RoundBlock(index, range(3))
        store.save(block, part)
        loaded = store.load(block)
        np.testing.assert_array_equal(loaded.splits, part.splits)
        sequence.add({"a": loaded})
    np.testing.assert_array_equal(sequence.trials("a").splits, [0, 1, 2, 0, 1, 2])
    np.testing.assert_array_equal(parts[0].where(parts[0].members).splits, [0, 2])


def test_trials_without_splits_stay_without(tmp_path):
    store, block = BlockStore(tmp_path, "run/audit/label"), RoundBlock(0, range(2))
    store.save(block, Trials(np.arange(2), np.zeros(2, int), np.ones(2, bool), np.ones(2), Coins.FAIR))
    assert store.load(block).splits is None


def scores(folder):
    return {
        path.relative_to(folder).as_posix(): dict(np.load(path))["scores"].tolist()
        for path in sorted((folder / "audits").rglob("block-*.npz"))
    }


@pytest.mark.parametrize("group", [pytest.param("everyone", marks=pytest.mark.nightly), 12])
def test_run_is_the_same_after_an_interruption_and_with_workers(group, tmp_path):
    (audit,) = PLAN["audit"]
    challenger = {**audit["challenger"], "group_size": group}
    plan = plan_of({**PLAN, "audit": [{**audit, "challenger": challenger}]})
    first = api.run(plan, out=tmp_path / "a")
    blocks = sorted((tmp_path / "a" / "audits").rglob("block-*.npz"))
    before = scores(tmp_path / "a")
    blocks[1].unlink()
    again = api.run(plan, out=tmp_path / "a")
    assert scores(tmp_path / "a") == before
    parallel = api.run(plan, out=tmp_path / "b", workers=2)
    assert scores(tmp_path / "b") == before
    auxiliary = [next(v for v in each if v.knowledge == "auxiliary") for each in (first, again, parallel)]
    assert [verdict.draws["number"] for verdict in auxiliary] == [3.0, 3.0, 3.0]
    informed = next(verdict for verdict in first if verdict.knowledge == "informed")
    assert (informed.draws is None) is (group == "everyone")
    assert auxiliary[0].metrics["auc"].method.endswith("for these 3 splits of the people")
    assert all(verdict.instrument["control"]["status"] == "passed" for verdict in first)


@pytest.mark.parametrize(
    ("change", "same"), [({}, True), ({"splits": 4}, False), ({"group_size": 20, "splits": None}, False)]
)
def test_digest_tells_tables_apart(change, same, tmp_path):
    from leakgauge.domains.locations.challenger import build

    audit = PLAN["audit"][0]
    tables = [audit["challenger"], {**audit["challenger"], **change}]
    digests = {
        build(
            data=audit["data"],
            challenger={key: value for key, value in table.items() if value is not None},
            mechanism=audit["mechanism"],
            folder=tmp_path,
            seed=7,
        ).digest
        for table in tables
    }
    assert len(digests) == (1 if same else 2)
