"""Conversion between networks or gradients and the records of Flower messages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.neurons.network import PlantedNetwork

if TYPE_CHECKING:
    from flwr.app import ArrayRecord, RecordDict

ARRAYS, GRADIENTS, CONFIG, DATA = "arrays", "gradients", "config", "data"
LAYERS = ("0", "2", "4")  # the linear layers of torch.nn.Sequential(Linear, ReLU, Linear, ReLU, Linear)
WEIGHT_NAMES = tuple(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias"))
ROUNDING = 2.0**-20  # of a weight of single precision, over sixteen steps
DECAY_SLACK = 0.1  # share of a change that rounding may leave over any number of steps
CHOSEN_NAMES = ("2.weight", "2.bias")  # of the layer with the planted neurons


def array_record(arrays: dict[str, npt.NDArray[Any]]) -> "ArrayRecord":
    """Return a record of named arrays."""
    from flwr.app import Array, ArrayRecord

    return ArrayRecord({name: Array(values) for name, values in arrays.items()})


def network_record(network: PlantedNetwork) -> "ArrayRecord":
    """Return the weights of a network, named as in a torch.nn.Sequential of its layers."""
    return array_record(dict(zip(WEIGHT_NAMES, (part for layer in network.layers for part in layer))))


def network_in(arrays: "ArrayRecord", chosen: int) -> PlantedNetwork:
    """Return the network in a message."""
    parts = [arrays[name].numpy() for name in WEIGHT_NAMES]
    return PlantedNetwork((parts[0], parts[1]), (parts[2], parts[3]), (parts[4], parts[5]), chosen)


def gradient_record(gradient: Reals) -> "ArrayRecord":
    """Return the gradient of the chosen neurons, named as the weights of their layer."""
    return array_record(dict(zip(CHOSEN_NAMES, (gradient[:, :-1], gradient[:, -1]))))


def whole_gradient_record(parts: Sequence[npt.NDArray[Any]]) -> "ArrayRecord":
    """Return the gradient of all weights and biases, named as they are."""
    return array_record(dict(zip(WEIGHT_NAMES, parts)))


def gradient_in(content: "RecordDict", network: PlantedNetwork) -> Reals:
    """Return the gradient in an answer, or old minus new weights: chosen neurons x (units + 1).

    New weights of a neuron that have only decayed count as no change. Of a network with a direction, it is
    one number: the whole gradient in that direction.
    """
    if network.direction is not None:
        return _projected_gradient(content, network)
    decayed = False
    if GRADIENTS in content.array_records:
        weights, biases = _chosen_arrays(content.array_records[GRADIENTS], GRADIENTS)
    elif ARRAYS in content.array_records:
        updated = _chosen_arrays(content.array_records[ARRAYS], ARRAYS)
        _require_shape(updated, network)
        weights, biases = (sent[: len(got)] - got for sent, got in zip(network.second, updated))
        decayed = True
    else:
        raise BadInput(
            f"the answer holds {sorted(content)}; it must hold {GRADIENTS!r}, or new weights as {ARRAYS!r}"
        )
    _require_shape((weights, biases), network)
    gradient = np.concatenate([weights, biases[:, None]], axis=1)[: network.chosen].astype(np.float64)
    if not np.isfinite(gradient).all():
        raise BadInput("the answer holds a number that is not finite; the client must send finite numbers")
    return without_decay(gradient, network) if decayed else gradient


def _projected_gradient(content: "RecordDict", network: PlantedNetwork) -> Reals:
    assert network.direction is not None
    if GRADIENTS not in content.array_records:
        raise BadInput(
            f"the answer holds {sorted(content)}, and full_gradient compares gradients with the clipping "
            f"bound: answer with {GRADIENTS!r} of all weights, or use another attack"
        )
    got, total = content.array_records[GRADIENTS], 0.0
    parts = [part for layer in network.direction for part in layer]
    for name, direction in zip(WEIGHT_NAMES, parts):
        if name not in got or got[name].numpy().shape != direction.shape:
            raise BadInput(
                f"{GRADIENTS!r} of the answer has no {name!r} of shape {direction.shape}, and full_gradient "
                "reads all weights; keep the names and shapes that were sent"
            )
        total += float(np.vdot(got[name].numpy().astype(np.float64), direction))
    if not np.isfinite(total):
        raise BadInput("the answer holds a number that is not finite; the client must send finite numbers")
    return np.array([total])


def without_decay(change: Reals, network: PlantedNetwork) -> Reals:
    """Return old minus new weights of the chosen neurons, zero for those that weight decay alone has moved.

    Decay moves every weight towards zero: in proportion to its size (SGD, AdamW), or all by one step (Adam
    with an L2 penalty). The gradient of an active neuron has one sign, and its weights have two. Decay never
    moves a weight that is zero.
    """
    weights, biases = (part[: network.chosen].astype(np.float64) for part in network.second)
    sent = np.concatenate([weights, biases[:, None]], axis=1)
    found = change.copy()
    for row, weight in zip(found, sent):
        if any(_is_along(row, towards_zero, weight) for towards_zero in (weight, np.sign(weight))):
            row[:] = 0
    return found


def _is_along(change: Reals, direction: Reals, weights: Reals) -> bool:
    """Whether a change is a positive multiple of a direction, up to the rounding of single precision."""
    if change[weights == 0].any():
        return False
    size = float(direction @ direction)
    factor = float(change @ direction) / size if size > 0 else 0.0
    rest = np.abs(change - factor * direction)
    exact = bool((rest <= ROUNDING * np.abs(weights)).all())
    return factor > 0 and (
        exact or float(np.linalg.norm(rest)) <= DECAY_SLACK * float(np.linalg.norm(change))
    )


def _chosen_arrays(arrays: "ArrayRecord", where: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    for name in CHOSEN_NAMES:
        if name not in arrays:
            raise BadInput(f"{where!r} of the answer has no {name!r}; keep the names that were sent")
    return arrays[CHOSEN_NAMES[0]].numpy(), arrays[CHOSEN_NAMES[1]].numpy()


def _require_shape(parts: tuple[npt.NDArray[Any], npt.NDArray[Any]], network: PlantedNetwork) -> None:
    """Accept all neurons of the layer, or the chosen ones alone."""
    for part, sent, name in zip(parts, network.second, CHOSEN_NAMES):
        if part.shape not in (sent.shape, sent[: network.chosen].shape):
            raise BadInput(
                f"{name!r} of the answer has the shape {part.shape}; {sent.shape} was sent, keep it"
            )
