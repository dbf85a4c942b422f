"""All that is used of Flower beyond its public functions; checked with the version that is pinned below."""

import logging
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from traceback import walk_stack
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import LAYOUT, Arrays, Protection
from leakgauge.domains.federated.flower_app.noisy_channel import NoisyChannel
from leakgauge.domains.federated.flower_app.training_rows import TrainingRows

FLOWER_VERSION = "1.41"
_ROUND_KEYS = ("server-round", "server_round", "current_round", "round")  # of the number of a training round
RUN_ID, SERVER_NODE, FIRST_CLIENT_NODE = 1, 1, 100


def require_flower_version() -> None:
    """Refuse a version of Flower whose internals may differ."""
    if not version("flwr").startswith(f"{FLOWER_VERSION}."):
        raise BadInput(
            f"challenger.app: Flower {version('flwr')} is installed, and apps are run with Flower "
            f"{FLOWER_VERSION}; run: pip install 'leakgauge[federated,ml]'"
        )


def project_config(project: Path) -> dict[str, Any]:
    """Return the checked pyproject.toml of a Flower project."""
    from flwr.common.config import get_project_config

    try:
        return get_project_config(project)
    except FileNotFoundError:
        raise BadInput(
            f"challenger.app: there is no pyproject.toml in {project}; write the path of the app's folder, "
            "which starts in the folder of the plan"
        ) from None
    except ValueError as error:
        raise BadInput(
            f"challenger.app: {project / 'pyproject.toml'}: {_one_line(error)}; a Flower project names its "
            "apps there, see https://flower.ai/docs/framework"
        ) from None


def fused_run_config(project: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the run config of a project, with the values that a plan overrides."""
    from flwr.common.config import get_fused_config_from_dir

    try:
        return dict(get_fused_config_from_dir(project, overrides))
    except ValueError as error:
        raise BadInput(
            f"challenger.run_config: {_one_line(error)}; the keys are those of [tool.flwr.app.config] in "
            f"{project / 'pyproject.toml'}"
        ) from None


def load_app(reference: str, project: Path) -> Any:
    """Import an app of a project, as Flower does."""
    from flwr.supercore.object_ref import load_app

    return load_app(reference, BadInput, project)


def set_task_identity() -> None:
    """Let messages be created in this process; Flower sets this where it runs an app."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN_ID, SERVER_NODE
    logging.getLogger("flwr").setLevel(logging.ERROR)


@contextmanager
def kept_task_identity() -> Iterator[None]:
    """Restore afterwards as whom this process sends messages, where Flower has set that."""
    from flwr.supercore.task_identity import TaskIdentity

    names = ("_task_id", "_run_id", "_node_id")
    before = {name: vars(TaskIdentity)[name] for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(TaskIdentity, name, value)


class ModSwitch:
    """Leaves out the noise or the clipping of Flower's own mods while a message is handled.

    It must be installed before the app is imported: mods are wrapped around its functions then.
    """

    def __init__(self) -> None:
        self.protection: Protection = "on"
        self.names: set[str] = set()
        self._channels: dict[Callable[..., Any], tuple[NoisyChannel, ...]] = {}
        self._others: set[str] = set()

    def install(self) -> None:
        """Let every ClientApp ask this switch which mods to apply."""
        from flwr.client.mod.utils import make_ffn
        from flwr.clientapp import client_app

        def make_switched(function: Callable[..., Any], mods: list[Any]) -> Callable[..., Any]:
            self.names |= {name for mod in mods if (name := _protection_name(mod))}
            self._others |= {getattr(mod, "__name__", "") for mod in mods}

            def switched(message: Any, context: Any) -> Any:
                return make_ffn(function, self._applied(mods))(message, context)

            last = takewhile(lambda mod: str(mod.__module__).startswith("flwr."), mods)  # to change an answer
            self._channels[switched] = tuple(filter(None, map(_local_channel, last)))
            return switched

        client_app.make_ffn = make_switched

    def handled(self, client: Any, kind: str) -> tuple[tuple[NoisyChannel, ...], tuple[str, ...]]:
        """Return what is known of the noise of replies to a kind of message, and all other kinds."""
        if client._call:  # noqa: SLF001 (one function for all kinds)
            return self._channels[client._call], ("evaluate", "query")  # noqa: SLF001
        functions = {name.removesuffix(".default"): one for name, one in client._registered_funcs.items()}  # noqa: SLF001
        return self._channels[functions.pop(kind.removesuffix(".default"))], tuple(sorted(functions))

    def require_single_updates(self) -> None:
        """Refuse an app whose updates are hidden in a sum by secure aggregation."""
        for name in self._others & {"secagg_mod", "secaggplus_mod"}:
            raise BadInput(
                f"{name}: with secure aggregation a server sees only sums of updates, and this audit reads "
                "single ones; audit a copy of the app without the mod for what one update reveals"
            )

    def _applied(self, mods: list[Any]) -> list[Any]:
        if self.protection == "on":
            return mods
        if self.protection == "off":
            return [mod for mod in mods if _protection_name(mod) is None]
        return [_without_noise(mod) for mod in mods]


def _protection_name(mod: Any) -> str | None:
    """The name of a mod that clips or adds noise; nothing of any other, such as one derived from it."""
    from flwr.clientapp.mod import LocalDpMod, adaptiveclipping_mod, fixedclipping_mod

    if type(mod) is LocalDpMod:
        return "LocalDpMod"
    return mod.__name__ if mod in (adaptiveclipping_mod, fixedclipping_mod) else None


def _local_channel(mod: Any) -> NoisyChannel | None:
    """What Flower's local noise allows: clipping of a whole update, and noise by the classic formula."""
    from flwr.clientapp.mod import LocalDpMod

    if type(mod) is not LocalDpMod or not (0 < mod.delta < 1.25 and mod.epsilon > 0):
        return None
    noise = mod.sensitivity * np.sqrt(2 * np.log(1.25 / mod.delta)) / mod.epsilon
    if not noise > 0:
        return None
    return NoisyChannel(name="LocalDpMod", clipped="update", multiplier=float(noise / mod.clipping_norm))


def _without_noise(mod: Any) -> Any:
    """The same mod, with an infinite epsilon if it is Flower's local noise: it then only clips."""
    from flwr.clientapp.mod import LocalDpMod

    if not isinstance(mod, LocalDpMod):
        return mod
    silent = copy(mod)
    silent.epsilon = np.inf
    return silent


class StrategyRecord:
    """Records which of Flower's strategies with noise a ServerApp uses; install it before it is imported."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def install(self) -> None:
        """Watch the strategies whose server adds noise to what it aggregates."""
        import flwr.server.strategy
        import flwr.serverapp.strategy

        for module in (flwr.server.strategy, flwr.serverapp.strategy):
            for name in vars(module):
                if name.startswith("DifferentialPrivacy"):
                    self._watch(getattr(module, name))

    def _watch(self, kind: Any) -> None:
        original, names = kind.__init__, self.names

        def recorded(strategy: Any, *arguments: Any, **said: Any) -> None:
            names.add(kind.__name__)
            original(strategy, *arguments, **said)

        kind.__init__ = recorded


class _FirstTrainMessage(BaseException):
    """Ends the user's ServerApp once it has sent what was to be recorded."""


def first_train_message(
    server_app: Any, client_app: Any, contexts: Callable[[int], Any], nodes: int
) -> tuple[Any, int]:
    """Run a ServerApp until it sends its first message to train; return it and the number of rounds.

    Other messages, such as requests for initial parameters, are answered by the user's clients.
    ``contexts`` gives the context of a client, by its number; that of the server is number -1.
    """
    from flwr.app import Message
    from flwr.serverapp import Grid
    from flwr.supercore.run import Run

    recorded: list[tuple[Message, int]] = []

    class RecordingGrid(Grid):  # type: ignore[misc]
        """Answers a ServerApp as connected clients would, and keeps the first message to train."""

        _run = Run.create_empty(RUN_ID)

        def __init__(self) -> None:
            self._replies: dict[str, Message] = {}

        def set_run(self, run: Any) -> None:
            self._run = run

        @property
        def run(self) -> Any:
            return self._run

        def create_message(
            self, content: Any, message_type: str, dst_node_id: int, group_id: str, ttl: Any = None
        ) -> Any:
            return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

        def get_node_ids(self) -> Iterable[int]:
            return range(FIRST_CLIENT_NODE, FIRST_CLIENT_NODE + nodes)

        def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
            names = []
            for message in messages:
                names.append(str(len(self._replies)))
                self._replies[names[-1]] = self._answer(message)
            return names

        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
            return [self._replies[name] for name in message_ids]

        def send_and_receive(self, messages: Iterable[Any], *, timeout: Any = None) -> Iterable[Any]:
            return [self._answer(message) for message in messages]

        def _answer(self, message: Any) -> Any:
            if message.metadata.message_type.partition(".")[0] != "train":
                return client_app(message, contexts(message.metadata.dst_node_id - FIRST_CLIENT_NODE))
            if not recorded:
                recorded.append((message, _stated_rounds()))
            raise _FirstTrainMessage

    try:
        server_app(RecordingGrid(), contexts(-1))
    except _FirstTrainMessage:
        pass
    except Exception:
        if not recorded:
            raise
    if not recorded:
        raise BadInput("the ServerApp ended without a message to train; no client would ever train")
    return recorded[0]


def _stated_rounds() -> int:
    """The number of training rounds, where a function that runs now has one (a strategy, for instance)."""
    frames = (frame for top in sys._current_frames().values() for frame, _ in walk_stack(top))  # noqa: SLF001
    return max((n for one in frames if isinstance(n := one.f_locals.get("num_rounds"), int)), default=1)


def message_with_arrays(template: Any, arrays: Arrays, kind: str = "train", number: int = 1) -> Any:
    """Return the message of the ServerApp with other arrays, or one of another kind or training round."""
    from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

    key, record = _only_array_record(template.content, "the message of the ServerApp")
    replaced = ArrayRecord(
        {
            name: Array(arrays[name].astype(_dtype(array), copy=False)) if name in arrays else array
            for name, array in record.items()
        }
    )
    parts = {name: replaced if name == key else part for name, part in template.content.items()}
    for name, part in template.content.config_records.items():
        later = {key: part[key] + number - 1 for key in _ROUND_KEYS if isinstance(part.get(key), int)}
        parts[name] = ConfigRecord({**part, **later})
    about = template.metadata
    if kind == "train":
        return Message(RecordDict(parts), FIRST_CLIENT_NODE, about.message_type, group_id=about.group_id)
    legacy = {name.replace("fitins", f"{kind.partition('.')[0]}ins"): part for name, part in parts.items()}
    return Message(RecordDict(legacy), FIRST_CLIENT_NODE, kind, group_id=about.group_id)


def _dtype(array: Any) -> np.dtype[Any]:
    return array.numpy().dtype


def arrays_of(content: Any, whose: str) -> Arrays:
    """Return the arrays of a message by name, in order."""
    _, record = _only_array_record(content, whose)
    return {name: array.numpy() for name, array in record.items()}


def reply_fields(reply: Any, message: Any, read: Collection[str]) -> dict[str, float]:
    """Return what a reply holds besides the arrays that are ``read``: numbers, and digests of anything else.

    Records, keys, types and shapes in their order are one field, and so are the bytes before the numbers of
    each array.
    """
    if reply.has_error():
        return {"error": _number((reply.error.code, reply.error.reason))}
    layout: list[Any] = []
    fields: dict[str, float] = {}
    sent, back = message.metadata, reply.metadata
    rest = sent.created_at + sent.ttl - back.created_at  # what Flower gives to a reply
    layout.append(None if abs(back.ttl - rest) < 1e-3 else back.ttl)
    for record_name, record in reply.content.items():
        for key, value in record.items():
            name = str(key) if str(key) not in fields else f"{record_name}.{key}"
            about = getattr(value, "dtype", type(value).__name__), getattr(value, "shape", None)
            layout.append((record_name, key, *about))
            if not hasattr(value, "stype"):
                fields[name] = _number(value)
                continue
            layout.append((value.stype, value.data[: len(value.data) - value.numpy().nbytes]))
            fields |= {} if key in read else {name: _number(value.data)}
    return {**fields, LAYOUT: _number(layout)}


def _number(value: Any) -> float:
    """A number as it is, and a digest of anything else, such as -0.0 or whole numbers beyond 2^53."""
    if isinstance(value, int | float) and abs(value) < 2**53 and repr(value) != "-0.0":
        return float(value)
    return float(int.from_bytes(sha256(repr(value).encode()).digest()[:6]))


def _only_array_record(content: Any, whose: str) -> tuple[str, Any]:
    records = content.array_records
    if len(records) != 1:
        raise BadInput(f"{whose} holds {len(records)} ArrayRecords; one with the model's arrays is needed")
    return next(iter(records.items()))


def new_context(number: int, run_config: dict[str, Any], partitions: int) -> Any:
    """Return the context of a client without memory, or of the server if the number is -1."""
    from flwr.app import Context, RecordDict

    node = {} if number < 0 else {"partition-id": number, "num-partitions": partitions}
    node_id = SERVER_NODE if number < 0 else FIRST_CLIENT_NODE + number
    return Context(
        run_id=RUN_ID, node_id=node_id, node_config=node, state=RecordDict(), run_config=dict(run_config)
    )


@contextmanager
def opacus_switched(protection: Protection) -> Iterator[None]:
    """Leave out the noise, or noise and clipping, of Opacus within the context, if the app has loaded it.

    Its accountant goes on with the app's own numbers: no epsilon is known of noise 0.
    """
    if protection == "on" or "opacus" not in sys.modules:
        yield
        return
    import torch
    from opacus.optimizers import DPOptimizer

    original, noise = DPOptimizer.__init__, "_generate_noise"
    modules = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("opacus.optim")]
    noisy = [(names, names[noise]) for names in modules if noise in names]

    def without_clipping(self: Any, *arguments: Any, **said: Any) -> None:
        original(self, *arguments, **(said if protection == "clipping" else said | {"max_grad_norm": 1e6}))

    DPOptimizer.__init__ = without_clipping
    for names, _ in noisy:
        names[noise] = lambda *_, reference, **__: torch.zeros_like(reference)
    try:
        yield
    finally:
        DPOptimizer.__init__ = original
        for names, function in noisy:
            names[noise] = function


class OpacusRecord:
    """Records the steps of optimisers of Opacus within its context, if the app has loaded it.

    ``sample_rates`` are those of its samplers that draw every row independently, and give one batch to each
    step.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[float, float, bool]] = []  # noise multiplier, learning rate, plain SGD
        self._runs: list[RunReads | None] = []
        self._n_drawn = 0  # batches of samplers
        self.sample_rates: set[float] = set()

    @property
    def is_complete(self) -> bool:
        """Whether further runs would say nothing new."""
        if not self._steps or None in self._runs or self._is_binomial:
            return True
        return len(self._runs) == 1 and _is_settled(self._runs[0])  # type: ignore[arg-type]

    @property
    def _is_binomial(self) -> bool:
        return (
            len(self.sample_rates) == 1
            and self._n_drawn == len(self._steps)
            and all(run is not None and _are_single(run) for run in self._runs)
        )

    def add_run(self, steps: Sequence[npt.ArrayLike] | None, n_rows: int) -> None:
        """Add the rows that each step of a recorded run trained on; None if they are not known."""
        self._runs.append(None if steps is None else run_reads(steps, n_rows))

    @contextmanager
    def recording(self, seen: TrainingRows) -> Iterator[None]:
        """Record a run within the context, and note the steps among what was seen of it."""
        if "opacus" not in sys.modules:
            yield
            return
        from opacus.optimizers import DPOptimizer
        from opacus.utils.uniform_sampler import UniformWithReplacementSampler

        step, draw = DPOptimizer.step, UniformWithReplacementSampler.__iter__

        def recorded(optimizer: Any, *arguments: Any, **said: Any) -> Any:
            parameters, n_clipped = _step_parameters(optimizer), _n_clipped(optimizer)
            answer = step(optimizer, *arguments, **said)
            skipped = optimizer._is_last_step_skipped  # noqa: SLF001, a part of a batch, without noise yet
            seen.note_clipped(n_clipped, is_step=not skipped)
            if not skipped:
                self._steps.append(parameters)
            return answer

        def drawn(sampler: Any) -> Any:
            self.sample_rates.add(float(sampler.sample_rate))
            for batch in draw(sampler):
                self._n_drawn += 1
                yield batch

        DPOptimizer.step, UniformWithReplacementSampler.__iter__ = recorded, drawn
        try:
            yield
        finally:
            DPOptimizer.step, UniformWithReplacementSampler.__iter__ = step, draw

    def channel(self) -> NoisyChannel | None:
        """Return what the recorded noise allows."""
        noises, rates, plain = (set(part) for part in zip(*self._steps)) if self._steps else ((), (), ())
        if len(noises) != 1 or not (noise := next(iter(noises))) > 0:
            return None
        channel = NoisyChannel(
            name="Opacus",
            clipped="example",
            multiplier=noise,
            steps=len(self._steps) // len(self._runs),
            sums=plain == {True} and len(rates) == 1,
        )
        runs = [run for run in self._runs if run is not None]
        if len(runs) < len(self._runs):
            return replace(channel, reads_are="hidden")
        return with_reads(channel, runs, next(iter(self.sample_rates)) if self._is_binomial else None)


RunReads = tuple[Reals, Reals]  # of each row: its reads in all, and the sum of their squares by step


def run_reads(steps: Sequence[npt.ArrayLike], n_rows: int) -> RunReads:
    """Count the reads of each row in a run, from the rows that each step trained on."""
    shifted = [number * n_rows + np.asarray(rows, np.int64) for number, rows in enumerate(steps)]
    places, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *shifted]), return_counts=True)
    rows = places % n_rows
    summed = (np.bincount(rows, weights, n_rows) for weights in (counts, counts.astype(np.float64) ** 2))
    reads, squares = (np.asarray(sums, np.float64) for sums in summed)
    return reads, squares


def _are_single(run: RunReads) -> bool:
    """Whether no step read a row twice."""
    return bool(np.array_equal(*run))


def _is_settled(run: RunReads) -> bool:
    """Whether all rows were read once, or all of their reads fell in one step."""
    reads, squares = run
    return bool(np.ptp(reads) == 0 and np.array_equal(squares, reads**2))


def with_reads(channel: NoisyChannel, runs: Sequence[RunReads], sample_rate: float | None) -> NoisyChannel:
    """Say how often a row is read: by the sampler's own rate, or by what was recorded in some runs.

    Where rows were read differently often, and not by a rate that is known, no distribution is assumed: the
    means over runs are stated with five standard errors on top.
    """
    if sample_rate is not None:
        return replace(channel, reads=sample_rate * channel.steps, reads_are="binomial")
    reads, squares = (np.array(part, np.float64) for part in zip(*runs))
    if np.ptp(reads) == np.ptp(squares) == 0:
        return replace(channel, reads=float(reads[0, 0]), reads_norm=float(np.sqrt(squares[0, 0])))
    return replace(
        channel,
        reads=_mean_limit(reads),
        reads_norm=_mean_limit(np.sqrt(squares)),
        reads_square=_mean_limit(reads**2),
        norm_square=_mean_limit(squares),
        reads_are="unknown",
    )


def _mean_limit(values: Reals) -> float:
    """The mean of runs x rows, and five standard errors between runs; infinite if there is only one run."""
    means = values.mean(axis=1)
    error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.inf
    return float(means.mean()) + 5 * error


def _step_parameters(optimizer: Any) -> tuple[float, float, bool]:
    import torch

    inner, groups = optimizer.original_optimizer, optimizer.param_groups
    is_plain = isinstance(inner, torch.optim.SGD) and not any(group["momentum"] for group in groups)
    return float(optimizer.noise_multiplier), float(groups[0]["lr"]), is_plain and len(groups) == 1


def _n_clipped(optimizer: Any) -> int | None:
    """The number of gradients that an optimiser is about to clip; None if it does so without them (ghost)."""
    found = getattr(next(iter(optimizer.params), None), "grad_sample", None)
    if found is None:
        return None
    return sum(map(len, found)) if isinstance(found, list) else len(found)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).replace("Invalid pyproject.toml: - ", "")
