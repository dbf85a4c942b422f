import numpy as np
import pytest
import torch
from torch import nn

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.linear_stack import (
    ForwardRecorder,
    distinct_arrays,
    find_linear_stack,
)


class Functional(nn.Module):
    """A network that calls ReLU as a function, as most apps do."""

    def __init__(self, activation):
        super().__init__()
        self.conv, self.fc1, self.fc2, self.fc3 = nn.Conv2d(1, 2, 3), *map(nn.Linear, (8, 6, 5), (6, 5, 3))
        self.activation = activation

    def forward(self, x):
        x = torch.relu(self.conv(x)).flatten(1)
        return self.fc3(self.activation(self.fc2(self.activation(self.fc1(x)))))


class VisionTransformer(nn.Module):
    """Patches, attention, and a head on the first token."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Linear(4, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 3))

    def forward(self, x):
        return self.head(self.block(self.patches(x.reshape(len(x), 4, 4)))[:, 0])


def found(net, shape=(5, 1, 4, 4), sent=None, moved=None):
    arrays = sent or {name: value.numpy().copy() for name, value in net.state_dict().items()}
    recorder = ForwardRecorder()
    with recorder.watching():
        net(torch.randn(shape)).square().sum().backward()
    return find_linear_stack(recorder.calls, arrays, moved)


def test_last_three_layers_of_a_convolutional_network():
    stack = found(Functional(torch.relu))
    assert stack.weights == ("fc1.weight", "fc2.weight", "fc3.weight")
    assert stack.biases == ("fc1.bias", "fc2.bias", "fc3.bias")
    assert (stack.features, stack.width, stack.dropout) == (8, 6, False)


def test_activation_that_overwrites_its_input():
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 9), nn.ReLU(inplace=True), nn.Linear(9, 3))
    assert found(net).weights == ("1.weight", "3.weight")


def test_head_of_a_vision_transformer():
    assert found(VisionTransformer().eval()).weights == ("head.1.weight", "head.3.weight")


@pytest.mark.parametrize(
    "activation",
    [nn.functional.gelu, nn.functional.silu, nn.GELU(approximate="tanh")],
    ids=["gelu", "silu", "approximate gelu"],
)
def test_smooth_functions_are_told_from_a_relu(activation):
    stack = found(Functional(activation))
    assert stack.smooth
    assert len(stack.weights) == 3
    assert not found(Functional(torch.relu)).smooth


def test_only_the_last_three_of_many():
    layers = [part for _ in range(5) for part in (nn.Linear(16, 16), nn.ReLU())]
    assert found(nn.Sequential(nn.Flatten(), *layers[:-1])).weights == ("5.weight", "7.weight", "9.weight")


def test_pair_with_a_relu_behind_is_preferred_in_the_middle():
    pair = (nn.Linear(16, 9), nn.ReLU(), nn.Linear(9, 8))
    net = nn.Sequential(
        nn.Flatten(),
        *pair,
        nn.GELU(),
        nn.LayerNorm(8),
        nn.Linear(8, 9),
        nn.ReLU(),
        nn.Linear(9, 8),
        nn.Tanh(),
    )
    net.append(nn.Linear(8, 3))
    stack = found(net)
    assert stack.weights == ("1.weight", "3.weight")
    assert (stack.ends, stack.gated, stack.smooth, stack.in_second) == (False, True, True, True)


def test_last_pair_without_a_known_function_behind():
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(16, 9), nn.ReLU(), nn.Linear(9, 8), nn.Tanh(), nn.Linear(8, 3)
    )
    stack = found(net)
    assert stack.weights == ("1.weight", "3.weight")
    assert (stack.ends, stack.gated, stack.tokens) == (False, False, None)


class Encoder(nn.Module):
    """Four patches of a row through two blocks, and one linear layer that reads some of them."""

    def __init__(self, batch_first, reads):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", batch_first=batch_first)
        self.blocks, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(4, 3)
        self.axis, self.reads = int(batch_first), reads
        for weight in self.parameters():  # the blocks begin as copies of each other
            nn.init.normal_(weight)

    def forward(self, x):
        x = x.reshape(len(x), 4, 4)
        x = self.blocks(x if self.axis else x.transpose(0, 1))
        return self.head(x.index_select(self.axis, torch.tensor(self.reads)).mean(self.axis))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("reads", [(0,), (0, 1, 2, 3)])
def test_blocks_of_a_transformer_whose_head_is_one_layer(batch_first, reads):
    net = Encoder(batch_first, reads)
    stack = found(net)
    assert stack.weights == ("blocks.layers.1.linear1.weight", "blocks.layers.1.linear2.weight")
    assert (stack.place, stack.tokens, stack.row_axis) == (1, reads, 1 - int(batch_first))
    recorder = ForwardRecorder(stack=stack)
    seen = []
    net.blocks.layers[1].linear1.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    with recorder.watching():
        for _ in range(2):
            net(torch.randn(5, 1, 4, 4))
    assert [one.shape for one in recorder.inputs] == [(5, len(reads), 4)] * 2
    for one, given in zip(recorder.inputs, seen):
        by_row = given.numpy() if batch_first else given.numpy().swapaxes(0, 1)
        np.testing.assert_array_equal(one, by_row[:, list(reads)])


def test_layers_that_are_not_trained_are_no_place():
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(16, 9), nn.ReLU(), nn.Linear(9, 8), nn.Tanh(), nn.Linear(8, 3)
    )
    with pytest.raises(BadInput, match="1 and 3 are not trained: their weights come back as they were sent"):
        found(net, moved={"5.weight", "5.bias"})


def test_dropout_between_is_recognised():
    torch.manual_seed(1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 40), nn.ReLU(), nn.Dropout(0.3), nn.Linear(40, 3))
    assert found(net).dropout


def test_arrays_are_found_whatever_their_names():
    net = Functional(torch.relu)
    arrays = {str(i): value.numpy() for i, value in enumerate(net.state_dict().values())}
    assert found(net, sent=arrays).weights == ("2", "4", "6")


@pytest.mark.parametrize(
    ("net", "said"),
    [
        (nn.Sequential(nn.Conv2d(1, 2, 4), nn.Flatten(), nn.Linear(2, 3)), "ends in Conv2d-Linear"),
        (Functional(torch.tanh), "ends in Linear-Linear-Linear .without a ReLU"),
        (Functional(nn.functional.leaky_relu), "ends in Linear-Linear-Linear .without a ReLU"),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(16, 9, bias=False), nn.ReLU(), nn.Linear(9, 3)),
            "have no bias",
        ),
    ],
)
def test_networks_without_a_place_are_refused_by_name(net, said):
    with pytest.raises(BadInput, match=f"no place for crafted weights: .*{said}"):
        found(net)


def test_weights_that_were_not_loaded_are_named():
    with pytest.raises(BadInput, match="weights not loaded: a layer of shape"):
        found(Functional(torch.relu), sent={"fc1.weight": np.zeros((6, 8), np.float32)})


def test_no_two_arrays_are_equal():
    arrays = {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float32), "n": np.array(4)}
    distinct = distinct_arrays(arrays, np.random.default_rng(0))
    assert not np.array_equal(distinct["a"], distinct["b"])
    assert distinct["n"] == 4
    assert distinct["a"].dtype == np.float32
