"""The positive control of federated clients: the same clients without noise."""

from dataclasses import replace

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.domains.federated.challenger import Challenger, build
from leakgauge.plan import Contender
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.positive_control import judge_control, play_control

WHO = Contender(attack="likelihood_neuron", knowledge="server", label="it")


@pytest.fixture
def challenger(tmp_path):
    return build(
        data={"rows": 600, "features": 64, "classes": 2},
        challenger={"targets": 3, "batch": 5, "neurons": 4},
        mechanism={"name": "bitrand", "epsilon": 0.5},
        folder=tmp_path,
        seed=1,
    )


def play(control: Challenger):
    def prepare(label):
        return catalog.prepare_contenders("federated", control, [WHO], 1)

    return judge_control(play_control(control, prepare, ["it"], 1, InProcessEngine())["it"])


def test_target_is_found_through_the_real_client(challenger):
    control = challenger.control()
    assert control.n_targets == 1
    assert control.training.mechanism is None
    assert play(control)["status"] == "passed"


def test_neuron_that_is_never_active_is_not_blamed_on_the_client(challenger):
    """All its gradients are zero, whatever the rows: the attack is weak, and the path is not broken."""

    class NeverMembers(Challenger):
        def release(self, members, rng):
            return super().release(np.zeros_like(members), rng)

    control = NeverMembers(**vars(challenger.control()))
    assert play(control)["status"] == "failed"


def test_sweep_over_the_mechanism_has_one_control(challenger, tmp_path):
    other = replace(challenger, training=replace(challenger.training, mechanism=None))
    assert other.control().digest == challenger.control().digest
    fewer = replace(challenger, training=replace(challenger.training, batch=4))
    assert fewer.control().digest != challenger.control().digest
