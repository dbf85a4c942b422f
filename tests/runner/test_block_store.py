import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.runner.block_store import BlockStore, RoundBlock, split_rounds

BLOCK = RoundBlock(2, range(20, 25))
READING = Reading(threshold=0.25, signed=True, fraction=0.3)


def trials(n=5, start=20, coins=Coins.FAIR, reading=READING):
    rng = np.random.default_rng(1)
    rows = np.arange(start, start + n)
    return Trials(rows, np.zeros(n, np.int64), rng.random(n) < 0.5, rng.normal(size=n), coins, reading)


def same(one, other):
    arrays = all(
        np.array_equal(getattr(one, name), getattr(other, name))
        and getattr(one, name).dtype == getattr(other, name).dtype
        for name in ("rounds", "targets", "members", "scores")
    )
    return arrays and one.coins is other.coins and one.reading == other.reading


@pytest.fixture
def store(tmp_path):
    return BlockStore(tmp_path / "audits" / "a" / "b", "run/a/b")


@pytest.mark.parametrize("coins", list(Coins))
@pytest.mark.parametrize(
    "reading", [Reading(), Reading(threshold=float("-inf")), Reading(signed=True, fraction=0.1)]
)
def test_saved_block_round_trips(store, coins, reading):
    saved = trials(coins=coins, reading=reading)
    store.save(BLOCK, saved)
    assert same(store.load(BLOCK), saved)


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_block_says_whether_more_releases_can_be_made(store, repeatable):
    store.save(BLOCK, replace(trials(), repeatable=repeatable))
    assert store.load(BLOCK).repeatable is repeatable


def test_spending_round_trips_under_checksum(store):
    spent = {"per_row": np.arange(5.0), "obtained": np.full(5, 0.3)}
    store.save(BLOCK, replace(trials(), spent=spent))
    found = store.load(BLOCK)
    assert set(found.spent) == set(spent)
    assert all(np.array_equal(found.spent[name], spent[name]) for name in spent)
    with np.load(store.path(BLOCK)) as archive:
        columns = {name: archive[name] for name in archive.files}
    np.savez_compressed(store.path(BLOCK), **columns | {"spent.obtained": np.full(5, 0.4)})
    assert store.load(BLOCK) is None


def test_transcript_is_kept_beside_its_block_for_the_owner_alone(store):
    transcript = {"answers": np.arange(6.0).reshape(3, 2), "members": np.array([True, False, True])}
    store.save(BLOCK, replace(trials(), transcripts=(transcript,)))
    (found,) = store.load(BLOCK).transcripts
    assert {name: column.tolist() for name, column in found.items()} == {
        name: column.tolist() for name, column in transcript.items()
    }
    assert stat.S_IMODE(store.transcript_path(BLOCK).stat().st_mode) == 0o600
    with np.load(store.path(BLOCK)) as archive:
        assert "answers" not in archive.files


@pytest.mark.parametrize("damage", ["missing", "changed", "cut"])
def test_block_without_its_transcript_is_no_block(store, damage):
    store.save(BLOCK, replace(trials(), transcripts=({"answers": np.arange(6.0)},)))
    path = store.transcript_path(BLOCK)
    match damage:
        case "missing":
            path.unlink()
        case "changed":
            np.savez_compressed(path, answers=np.arange(6.0) + 1)
        case "cut":
            path.write_bytes(path.read_bytes()[:50])
    assert store.load(BLOCK) is None


def test_equal_trials_give_equal_bytes(store, tmp_path):
    other = BlockStore(tmp_path / "elsewhere", store.identity)
    for place in (store, other):
        place.save(BLOCK, trials())
    assert store.path(BLOCK).read_bytes() == other.path(BLOCK).read_bytes()


def test_unsaved_block_is_missing(store):
    assert store.load(BLOCK) is None


def test_truncated_block_is_missing(store, monkeypatch):
    store.save(BLOCK, trials())
    whole = store.path(BLOCK).read_bytes()
    for length in range(len(whole)):
        monkeypatch.setattr(Path, "read_bytes", lambda _, length=length: whole[:length])
        assert store.load(BLOCK) is None, length


@pytest.mark.parametrize("mask", [0x01, 0x10, 0x80, 0xFF])
def test_flipped_bit_never_changes_a_trial(store, mask, monkeypatch):
    saved = trials()
    store.save(BLOCK, saved)
    whole = bytearray(store.path(BLOCK).read_bytes())
    monkeypatch.setattr(Path, "read_bytes", lambda _: bytes(whole))
    lost = 0
    for place in range(len(whole)):
        whole[place] ^= mask
        found = store.load(BLOCK)
        assert found is None or same(found, saved), place
        lost += found is None
        whole[place] ^= mask
    assert lost > len(whole) / 2, "most of a file matters"


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"\x93NUMPY", b"not an archive at all", b"PK\x05\x06" + bytes(18), bytes(1000)]
)
def test_invalid_file_is_missing(store, content):
    store.folder.mkdir(parents=True)
    store.path(BLOCK).write_bytes(content)
    assert store.load(BLOCK) is None


def test_folder_in_place_of_block_is_missing(store):
    store.path(BLOCK).mkdir(parents=True)
    assert store.load(BLOCK) is None


def test_pickle_is_never_loaded(store, tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("trapped").touch, ())

    store.folder.mkdir(parents=True)
    traps = {name: np.array([Trap()], object) for name in ("rounds", "targets", "members", "scores")}
    with store.path(BLOCK).open("wb") as file:
        np.savez(file, header=np.array("{}"), checksum=np.array(""), **traps, allow_pickle=True)
    assert store.load(BLOCK) is None
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("identity", ["other run/a/b", "run/other/b", "run/a/other"])
def test_block_of_another_run_audit_or_label_is_foreign(store, identity):
    store.save(BLOCK, trials())
    assert replace(store, identity=identity).load(BLOCK) is None


def test_block_of_other_rounds_is_missing(store):
    store.save(BLOCK, trials())
    assert store.load(RoundBlock(2, range(20, 30))) is None


def test_copied_block_is_foreign(store):
    store.save(BLOCK, trials())
    other = RoundBlock(3, range(20, 25))
    shutil.copy(store.path(BLOCK), store.path(other))
    assert store.load(other) is None


def test_checksum_covers_coins_and_reading(store):
    store.save(BLOCK, trials())
    with np.load(store.path(BLOCK)) as archive:
        columns = dict(archive)
    about = json.loads(str(columns["header"]))
    for change in ({"coins": "given"}, {"reading": {**about["reading"], "threshold": 0.5}}):
        with store.path(BLOCK).open("wb") as file:
            np.savez(file, **{**columns, "header": np.array(json.dumps({**about, **change}, sort_keys=True))})
        assert store.load(BLOCK) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"rounds": np.arange(21, 26)},
        {"rounds": np.full(5, 20)},
        {"rounds": np.arange(20.0, 25)},
        {"rounds": np.arange(20, 25, dtype=np.uint64)},
        {"targets": np.arange(5) - 1},
        {"targets": np.arange(5) + 1},
        {"targets": np.arange(5.0)},
        {"members": np.arange(5) % 2},
        {"scores": np.zeros(5, np.float16)},
        {"scores": np.zeros(5, complex)},
        {"splits": np.array(list("abcde"))},
        {"reading": replace(READING, threshold="high")},
        {"reading": replace(READING, event=7)},
        {"reading": replace(READING, studied={"a": "b"})},
    ],
    ids=str,
)
def test_trials_that_are_not_of_the_plan_are_damaged(store, changed):
    store = replace(store, n_targets=5)
    store.save(BLOCK, replace(trials(), targets=np.arange(5)))
    assert store.load(BLOCK) is not None
    store.save(BLOCK, replace(trials(), **changed))
    assert store.load(BLOCK) is None


def test_columns_that_nobody_reads_are_damage(store):
    store.save(BLOCK, trials())
    with np.load(store.path(BLOCK)) as archive:
        columns = dict(archive)
    np.savez(store.path(BLOCK), **columns, more=np.arange(3))
    assert store.load(BLOCK) is None


def test_blocks_cover_every_round_once():
    for n_rounds, size in [(1, 1), (10, 3), (9, 3), (5, 100)]:
        cut = split_rounds(n_rounds, size)
        assert [n for block in cut for n in block.rounds] == list(range(n_rounds))
        assert [block.index for block in cut] == list(range(len(cut)))
        assert {len(block.rounds) for block in cut[:-1]} <= {size}
