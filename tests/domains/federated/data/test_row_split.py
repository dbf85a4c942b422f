import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.data.data_loader import load_rows
from leakgauge.domains.federated.data.dataset import FederatedDataset
from leakgauge.domains.federated.data.row_split import RowSplit, split_rows, without_duplicates
from leakgauge.support.target_choice import TargetChoice

ROWS = np.random.default_rng(1).normal(size=(100, 20)).astype(np.float32)


def loaded(rows=ROWS):
    labels = np.arange(len(rows)) % 2
    return FederatedDataset(rows=rows, labels=labels, classes=("0", "1"), digest="", seed=1)


def parts_of(rows=ROWS, seed=1, **changes):
    said = {"targets": TargetChoice(n=10), "reference": 0.5, "batch": 20} | changes
    return split_rows(loaded(rows), rng=np.random.default_rng(seed), **said)


def test_every_row_is_in_one_part():
    parts = parts_of()
    assert sorted([*parts.targets, *parts.clients, *parts.reference]) == list(range(100))
    assert (parts.targets.size, parts.clients.size, parts.reference.size) == (10, 45, 45)
    assert parts.notes == ()


def test_seed_decides_parts():
    one, same, other = parts_of(seed=1), parts_of(seed=1), parts_of(seed=2)
    for name in ("targets", "clients", "reference"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("reference", "n"), [(0.2, 18), (30, 30), (30.0, 30), (2, 2)])
def test_reference_is_share_or_number_of_rows(reference, n):
    assert parts_of(reference=reference).reference.size == n


def test_targets_may_be_named_in_any_order():
    assert parts_of(targets=TargetChoice(names=(7, "3"))).targets.tolist() == [7, 3]


def test_rows_that_equal_target_are_left_out_of_both_parts():
    rows = np.tile(ROWS[:50], (2, 1))  # row i + 50 equals row i
    parts = parts_of(rows, targets=TargetChoice(names=(0, 51, 7, 57)))
    assert not {50, 1} & {*parts.clients, *parts.reference}
    assert parts.targets.tolist() == [0, 51, 7, 57]  # which may equal each other
    assert parts.clients.size + parts.reference.size == 94
    (note,) = parts.notes
    assert note.startswith("left out: ")
    assert sum(int(word) for word in note.split() if word.isdigit()) == 2


def test_equal_uint8_rows_are_found_without_overflow():
    rows = np.zeros((60, 40), np.uint8)
    rows[:, 3] = np.arange(60)  # a value that is not looked at first
    rows[9, 3] = 0  # as row 0
    parts = parts_of(rows, targets=TargetChoice(names=(0,)), batch=4)
    assert parts.clients.size + parts.reference.size == 58
    assert 9 not in [*parts.clients, *parts.reference]


def test_near_duplicates_are_left_out_on_request():
    rows = ROWS.copy()
    rows[1] = rows[0] + 0.03
    rows[2] = rows[0]
    rows[2, 19] += 0.05
    parts = RowSplit(targets=np.array([0]), clients=np.array([1, 2, 3]), reference=np.array([4, 5]))
    assert without_duplicates(parts, rows) is parts
    apart = without_duplicates(parts, rows, within=1 / 32)
    assert apart.clients.tolist() == [2, 3]
    assert apart.reference.tolist() == [4, 5]
    assert apart.notes == ("left out: 1 rows of clients and 0 of the reference that nearly equal a target",)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"targets": TargetChoice(n=101)}, "101 wanted, but the data have 100 rows"),
        ({"targets": TargetChoice(names=(100,))}, "no row '100'; they are numbered from 0 to 99"),
        ({"targets": TargetChoice(names=(3, "3"))}, "named twice"),
        ({"targets": TargetChoice(n=100)}, "0 rows besides the targets"),
        ({"reference": 0.0}, "reference must be > 0"),
        ({"reference": float("nan")}, "reference must be > 0"),
        ({"reference": 1.0}, "none is left for clients"),
        ({"reference": 90}, "none is left for clients"),
        ({"reference": 2.5}, "a share up to 1, or a whole number of rows"),
        ({"reference": 1}, "has 1 rows, and needs 2"),
        ({"reference": 0.001}, "has 0 rows, and needs 2"),
        ({"batch": 46}, "batch: 46 rows .* clients have 45 besides"),
    ],
)
def test_rejects_parts_without_room(changes, word):
    with pytest.raises(BadInput, match=word):
        parts_of(**changes)


def test_batches_need_enough_rows_after_removing_duplicates():
    rows = ROWS.copy()
    rows[1:60] = rows[0]
    with pytest.raises(BadInput, match=r"batch: 41 rows .* \(left out: .* that equal a target\)"):
        parts_of(rows, targets=TargetChoice(names=(0,)), reference=2, batch=41)


def two_files(folder, reference):
    rng = np.random.default_rng(3)
    own = rng.normal(size=(40, 6)).astype(np.float32)
    np.savez(folder / "own.npz", embedding=own, label=["a", "b"] * 20)
    others = rng.normal(size=(30, 6)).astype(np.float32)
    np.savez(folder / "public.npz", embedding=reference(own, others), label=["b", "c"] * 15)
    return load_rows({"source": "own.npz", "reference": "public.npz"}, folder, 1)


def test_adversary_file_is_the_whole_reference(tmp_path):
    loaded = two_files(tmp_path, lambda own, others: others)
    parts = split_rows(
        loaded, targets=TargetChoice(n=4), reference=0.5, batch=10, rng=np.random.default_rng(1)
    )
    assert parts.reference.tolist() == list(range(40, 70))
    assert sorted([*parts.targets, *parts.clients]) == list(range(40))
    assert loaded.classes == ("a", "b", "c")
    assert loaded.labels[40:42].tolist() == [1, 2]


def test_rejects_reference_that_holds_target(tmp_path):
    loaded = two_files(tmp_path, lambda own, others: np.concatenate([others[:29], own[7:8]]))
    with pytest.raises(BadInput, match=r"data.reference: its row 29 \(the first is 0\) equals a target"):
        split_rows(
            loaded, targets=TargetChoice(names=(7,)), reference=0.5, batch=10, rng=np.random.default_rng(1)
        )


def test_client_rows_equal_to_a_target_are_removed_with_own_reference_file(tmp_path):
    loaded = two_files(tmp_path, lambda own, others: others)
    loaded.rows[9] = loaded.rows[7]
    parts = split_rows(
        loaded, targets=TargetChoice(names=(7,)), reference=0.5, batch=10, rng=np.random.default_rng(1)
    )
    assert sorted([*parts.clients, 7, 9]) == list(range(40))
    assert parts.notes == ("left out: 1 rows of clients and 0 of the reference that equal a target",)


def test_errors_of_reference_name_its_file(tmp_path):
    with pytest.raises(BadInput, match=r"data.reference \(public.npz\): .*row 3 .*holds nan in feature 2"):
        two_files(tmp_path, lambda own, others: np.where(np.arange(180).reshape(30, 6) == 20, np.nan, others))


def test_name_of_reference_file_does_not_matter(tmp_path):
    digest = two_files(tmp_path, lambda own, others: others).digest
    (tmp_path / "public.npz").rename(tmp_path / "theirs.npz")
    assert load_rows({"source": "own.npz", "reference": "theirs.npz"}, tmp_path, 1).digest == digest
    (tmp_path / "own.npz").replace(tmp_path / "theirs.npz")
    two_files(tmp_path, lambda own, others: others)
    assert load_rows({"source": "own.npz", "reference": "theirs.npz"}, tmp_path, 1).digest != digest


def test_rejects_reference_of_another_width(tmp_path):
    with pytest.raises(BadInput, match="its rows have 5 values, those of source 6"):
        two_files(tmp_path, lambda own, others: others[:, :5])
