"""Find consecutive linear layers in the user's network, by watching its forward passes."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import Arrays, LinearStack


@dataclass(eq=False)
class _Call:
    """One call of a layer: what went in and came out, copied, because the app may overwrite it.

    ``flow`` is the gradient of what came out.
    """

    module: Any
    given: Any
    returned: Any
    weights: dict[str, Any]
    flow: Any = None

    @property
    def is_linear(self) -> bool:
        import torch

        return isinstance(self.module, torch.nn.Linear) and self.given is not None and self.given.dim() >= 2


@dataclass(eq=False)
class ForwardRecorder:
    """Watches all modules of torch while a client trains.

    ``calls`` are those of the first forward pass. If a ``stack`` is set, ``inputs`` collects what enters it.
    """

    calls: list[_Call] = field(default_factory=list)
    stack: LinearStack | None = None
    inputs: list[npt.NDArray[np.float32]] = field(default_factory=list)
    _root: Any = None
    _done: bool = False
    _n_alike: int = 0  # layers of the stack's shape so far in this forward pass

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
        if self.stack is not None:
            self._collect(self.stack, module, given)
            return
        own = dict(module.named_parameters(recurse=False))
        if own and not self._done and given:
            weights = {name: value.detach().clone() for name, value in own.items()}
            self.calls.append(call := _Call(module, _copied(given[0]), _copied(returned), weights))
            if call.returned is not None and returned.requires_grad:
                returned.register_hook(lambda flow: setattr(call, "flow", _copied(flow)))
        self._done |= module is self._root

    def _collect(self, stack: LinearStack, module: Any, given: Any) -> None:
        import torch

        shape = (stack.width, stack.features)
        if isinstance(module, torch.nn.Linear) and tuple(module.weight.shape) == shape and module.training:
            if self._n_alike == stack.place:
                self.inputs.append(_row_inputs(given[0].detach().clone().float(), stack))
            self._n_alike += 1
        if module is self._root:
            self._n_alike = 0


def _row_inputs(given: Any, stack: LinearStack) -> npt.NDArray[np.float32]:
    """Inputs by row; where a row has several, those through which gradients flow."""
    if stack.tokens is None:
        return np.asarray(given.numpy())
    by_row = given.movedim(stack.row_axis, 0)
    return np.asarray(by_row.reshape(len(by_row), -1, stack.features)[:, list(stack.tokens)].numpy())


def _copied(value: Any) -> Any:
    import torch

    return value.detach().clone() if isinstance(value, torch.Tensor) else None


def find_linear_stack(calls: list[_Call], sent: Arrays, moved: Collection[str] | None = None) -> LinearStack:
    """Return linear layers with ReLUs, GELUs or SiLUs between them, in which weights can be crafted.

    The last two or three, if the network ends in such; otherwise the last two that follow each other
    anywhere, with a ReLU behind the second if possible. ``moved`` are the arrays that training changes.
    Other networks are refused.
    """
    if not calls:
        raise BadInput(
            "the client ran no layer of torch; only networks of PyTorch can be audited as they are"
        )
    tail: list[_Call] = []
    for call in reversed(calls):
        plain = call.is_linear and call.given.dim() == 2
        if not plain or (tail and _link(call, tail[0]) is None) or len(tail) == 3:
            break
        tail.insert(0, call)
    places = [tail] if len(tail) >= 2 else []
    pairs = [list(pair) for pair in pairwise(calls) if all(one.is_linear for one in pair) and _link(*pair)]
    pairs.sort(key=lambda pair: _is_gated(pair, calls))  # the order among equals stays
    found = None
    for place in (*places, *reversed(pairs)):
        found = _stack_in(place, calls, sent, moved, ends=place is tail)
        if isinstance(found, LinearStack):
            return found
    reason = found or (
        "nowhere do two linear layers follow each other with a ReLU, GELU or SiLU between them "
        "(Linear-ReLU-Linear)"
    )
    raise BadInput(f"the network has no place for crafted weights: it ends in {_ending(calls)}, and {reason}")


def _stack_in(
    place: list[_Call], calls: list[_Call], sent: Arrays, moved: Collection[str] | None, *, ends: bool
) -> LinearStack | str:
    """The stack of some layers, or why no weights can be crafted there."""
    gated = not ends and _is_gated(place, calls)
    behind = calls[calls.index(place[-1]) + 1 :][:1] if gated else []
    links = [link for pair in pairwise([*place, *behind]) if (link := _link(*pair))]
    weights = tuple(_array_name(call.weights["weight"], sent) for call in place)
    biases = tuple(
        _array_name(call.weights["bias"], sent) if "bias" in call.weights else None for call in place
    )
    layers = " and ".join(name.removesuffix(".weight") for name in weights)
    if None in biases[: 2 if gated else len(place) - 1]:
        return f"{layers} have no bias, which a threshold needs"
    if moved is not None and not set(weights) <= set(moved):
        return f"{layers} are not trained: their weights come back as they were sent"
    if not ends and (place[-1].flow is None or not place[-1].flow.any()):
        return f"no gradient reaches {layers}"
    first = place[0]
    stack = LinearStack(
        weights=weights,
        biases=biases,
        dropout=any(link.dropout for link in links),
        smooth=any(link.smooth for link in links),
        features=int(first.given.shape[-1]),
        width=int(first.returned.shape[-1]),
        ends=ends,
        gated=gated,
        place=_n_alike_before(first, calls),
    )
    if ends or first.given.dim() == 2:
        return stack
    n_rows, shape = int(calls[-1].returned.shape[0]), tuple(first.given.shape)
    if n_rows not in shape[:2]:
        return f"the inputs of {layers} have the shape {shape}, which does not show which row they belong to"
    axis = shape.index(n_rows)
    flow = place[-1].flow.movedim(axis, 0).reshape(n_rows, -1, place[-1].flow.shape[-1])
    return replace(stack, tokens=tuple(flow.any(2).any(0).nonzero()[:, 0].tolist()), row_axis=axis)


def _n_alike_before(call: _Call, calls: list[_Call]) -> int:
    shape = call.module.weight.shape
    return sum(one.is_linear and one.module.weight.shape == shape for one in calls[: calls.index(call)])


def _is_gated(pair: list[_Call], calls: list[_Call]) -> bool:
    """Whether a ReLU follows the second of two layers, before any other layer."""
    after = calls[calls.index(pair[-1]) + 1 :][:1]
    return pair[0].given.dim() == 2 and any(_link(pair[-1], call) is not None for call in after)


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
    if first.returned is None or second.given is None or first.returned.shape != second.given.shape:
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
