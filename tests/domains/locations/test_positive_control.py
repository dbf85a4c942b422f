"""The positive control of counts per place: one person with an outsized trace, nothing hidden."""

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import NoControl
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.outsized_trace import with_trace
from positive_control_play import played

CITY = {"source": "synthetic", "users": 400, "sites": 30, "epochs": 48}
LAPLACE = {"name": "laplace", "epsilon": 0.01}


def built(folder, mechanism=LAPLACE, **challenger):
    table = {"group_size": 100, "targets": 4, **challenger}
    return build(data=CITY, challenger=table, mechanism=mechanism, folder=folder, seed=1)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("attack", "knowledge"),
    [
        ("likelihood", "informed"),
        ("likelihood", "auxiliary"),
        ("likelihood", "zero"),
        ("one_threshold", "auxiliary"),
        ("one_threshold", "zero"),
        ("two_threshold", "auxiliary"),
        ("reference", "auxiliary"),
    ],
)
def test_outsized_trace_is_found(attack, knowledge, relation, tmp_path):
    control = built(tmp_path, relation=relation).control()
    assert control.n_targets == 1
    assert played("locations", control, attack, knowledge)["status"] == "passed"


def test_trace_replaces_that_of_one_person_only(tmp_path):
    traces = built(tmp_path).traces
    cells = np.array([1, 5, 9])
    changed = with_trace(traces, 7, cells)
    before, after = traces.visits.toarray(), changed.visits.toarray()
    assert np.flatnonzero(after[7]).tolist() == [1, 5, 9]
    np.testing.assert_array_equal(np.delete(before, 7, axis=0), np.delete(after, 7, axis=0))
    assert changed.visits.has_canonical_format


def test_release_in_which_all_is_suppressed_needs_no_control(tmp_path):
    none = built(tmp_path, {**LAPLACE, "clamp": True, "suppress": 100}).control()
    assert isinstance(none, NoControl)
    assert not none.needed


def test_sweep_over_the_mechanism_has_one_control(tmp_path):
    one, other = built(tmp_path), built(tmp_path, {"name": "gaussian", "epsilon": 1.0, "delta": 1e-5})
    assert one.control().digest == other.control().digest
    assert built(tmp_path, group_size=90).control().digest != one.control().digest


def own(folder, body):
    (folder / "mine.py").write_text(f"import numpy as np\ndef publish(counts, rng):\n    return {body}\n")
    return built(folder, {"name": "own", "release": "mine:publish"})


def test_own_pipeline_is_left_out_of_its_control(tmp_path):
    control = own(tmp_path, "counts + np.round(rng.normal(0, 1e4, counts.shape))").control()
    assert played("locations", control, "likelihood", "informed")["status"] == "passed"


def test_own_pipeline_that_ignores_its_counts_is_refused(tmp_path):
    broken = own(tmp_path, "np.zeros(counts.shape)")
    with pytest.raises(BadInput, match="ignores its counts, or suppresses all"):
        broken.control()


def test_friends_of_an_invented_person_are_not_known(tmp_path):
    found = played("locations", built(tmp_path).control(), "likelihood", "friends")
    assert found["status"] == "not possible"
    assert "invented" in found["reason"]
