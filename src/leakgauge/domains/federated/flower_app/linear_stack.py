"""Find consecutive linear layers in the user's network, by watching its forward passes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import Arrays, LinearStack


@dataclass(eq=False)
class _Call:
    """One call of a layer: what went in and came out, copied, because the app may overwrite it."""

    module: Any
    given: Any
    returned: Any
    weights: dict[str, Any]


@dataclass(eq=False)
class ForwardRecorder:
    """Watches all modules of torch while a client trains.

    ``calls`` are those of the first forward pass. If ``layer`` is set, ``inputs`` collects what enters it.
    """

    calls: list[_Call] = field(default_factory=list)
    layer: tuple[int, int] | None = None  # outputs, features of the layer that is watched
    inputs: list[Any] = field(default_factory=list)
    _root: Any = None
    _done: bool = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch within the context."""
        from torch.nn.modules import module

        before = module.register_module_forward_pre_hook(self._enter)
        after = module.register_module_forward_hook(self._leave)
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def _enter(self, module: Any, given: Any) -> None:
        if self._root is None and next(module.parameters(), None) is not None:
            self._root = module

    def _leave(self, module: Any, given: Any, returned: Any) -> None:
        import torch

        if self.layer is not None:
            is_layer = isinstance(module, torch.nn.Linear) and tuple(module.weight.shape) == self.layer
            if is_layer and module.training and given[0].dim() == 2:
                self.inputs.append(given[0].detach().clone().float().numpy())
            return
        own = dict(module.named_parameters(recurse=False))
        if own and not self._done and given:
            self.calls.append(
                _Call(
                    module,
                    _copied(given[0]),
                    _copied(returned),
                    {name: value.detach().clone() for name, value in own.items()},
                )
            )
        self._done |= module is self._root


def _copied(value: Any) -> Any:
    import torch

    return value.detach().clone() if isinstance(value, torch.Tensor) else None


def find_linear_stack(calls: list[_Call], sent: Arrays) -> LinearStack:
    """Return the last two or three linear layers with ReLUs, GELUs or SiLUs between them; refuse others."""
    import torch

    if not calls:
        raise BadInput(
            "the client ran no layer of torch; only networks of PyTorch can be audited as they are"
        )
    tail: list[_Call] = []
    for call in reversed(calls):
        plain = isinstance(call.module, torch.nn.Linear) and call.given is not None and call.given.dim() == 2
        if not plain or (tail and _link(call, tail[0]) is None) or len(tail) == 3:
            break
        tail.insert(0, call)
    if len(tail) < 2:
        raise BadInput(
            f"the network has no place for crafted weights: it ends in {_ending(calls)}, and two linear "
            "layers with a ReLU, GELU or SiLU between them are needed (Linear-ReLU-Linear)"
        )
    links = [link for pair in pairwise(tail) if (link := _link(*pair))]
    weights = tuple(_array_name(call.weights["weight"], sent) for call in tail)
    biases = tuple(
        _array_name(call.weights["bias"], sent) if "bias" in call.weights else None for call in tail
    )
    if biases[0] is None or (len(tail) == 3 and biases[1] is None):
        raise BadInput(
            "the network has no place for crafted weights: its last hidden layers have no bias, which a "
            "threshold needs"
        )
    return LinearStack(
        weights=weights,
        biases=biases,
        dropout=any(link.dropout for link in links),
        smooth=any(link.smooth for link in links),
        features=int(tail[0].given.shape[1]),
        width=int(tail[0].returned.shape[1]),
    )


@dataclass(frozen=True)
class _Link:
    """How a layer's output becomes the next one's input."""

    smooth: bool  # by a GELU or SiLU, otherwise by a ReLU
    dropout: bool


def _link(first: _Call, second: _Call) -> _Link | None:
    """Recognise the function between two layers by its values; None if it is none of those that are known."""
    from torch.nn import functional

    functions: list[Callable[[Any], Any]] = [
        functional.relu,
        functional.gelu,
        _tanh_gelu,
        functional.silu,
    ]
    if first.returned is None or first.returned.shape != second.given.shape:
        return None
    given = second.given
    for number, function in enumerate(functions):
        expected, smooth = function(first.returned), number > 0
        if _is_close(expected, given):
            return _Link(smooth, dropout=False)
        kept = given != 0
        if not kept.any() or not kept.logical_and(expected == 0).logical_not().all():
            continue
        ratio = given[kept] / expected[kept]
        if _is_close(ratio, ratio[0].expand_as(ratio)):
            return _Link(smooth, dropout=True)
    return None


def _tanh_gelu(values: Any) -> Any:
    from torch.nn import functional

    return functional.gelu(values, approximate="tanh")


def _is_close(expected: Any, given: Any) -> bool:
    import torch

    return bool(torch.allclose(expected, given, rtol=1e-4, atol=1e-7))


def _ending(calls: list[_Call]) -> str:
    names = [type(call.module).__name__ for call in calls[-3:]]
    return "-".join(names) + (" (without a ReLU between them)" if names[-2:] == ["Linear", "Linear"] else "")


def _array_name(weight: Any, sent: Arrays) -> str:
    """The name in the message of the array that a layer was using."""
    values = weight.numpy()
    for name, array in sent.items():
        if array.shape == values.shape and np.array_equal(array.astype(values.dtype), values):
            return name
    raise BadInput(
        f"weights not loaded: a layer of shape {values.shape} holds none of the arrays that were sent; the "
        "client must train the model that it is sent"
    )


def distinct_arrays(sent: Arrays, rng: np.random.Generator) -> Arrays:
    """Return arrays of which no two are equal, so that a layer can be recognised by its numbers."""
    return {
        name: (array + 1e-3 * np.abs(rng.normal(size=array.shape))).astype(array.dtype)
        if np.issubdtype(array.dtype, np.floating)
        else array
        for name, array in sent.items()
    }
