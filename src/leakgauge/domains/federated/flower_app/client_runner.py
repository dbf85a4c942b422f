"""Load a user's Flower project and play games with its real client; runs in a process of its own."""

import os
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app import flower_internals as internals
from leakgauge.domains.federated.flower_app.client_games import (
    AppDescription,
    AppSettings,
    Arrays,
    ClientAnswer,
    ClientGame,
    Failure,
    LinearStack,
    Progress,
    RowKey,
)
from leakgauge.domains.federated.flower_app.data_hook import WAY_OUT, DataHook, hook_place, load_inject
from leakgauge.domains.federated.flower_app.linear_stack import (
    ForwardRecorder,
    distinct_arrays,
    find_linear_stack,
)
from leakgauge.domains.federated.flower_app.noisy_channel import NoisyChannel
from leakgauge.domains.federated.flower_app.training_rows import Example, TrainingRows, rows_by_exchange
from leakgauge.support.user_code import error_with_location

_LABEL_KEYS = ("label", "labels", "target", "targets", "y", "fine_label")
_RECORDED_RUNS = 8  # to see how often rows are read
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "", None)


class AppRunner:
    """A loaded project; every game is a message to its ClientApp, with a context without memory."""

    def __init__(self, settings: AppSettings, *, network: bool = False) -> None:
        self._settings = settings
        self._asked_network = [] if network else _block_network()
        internals.require_flower_version()
        config = internals.project_config(settings.project)["tool"]["flwr"]["app"]
        components = config["components"]
        if "clientapp" not in components:
            raise BadInput(f"challenger.app: {settings.project} has no clientapp, so there are no clients")
        self._run_config = internals.fused_run_config(settings.project, dict(settings.run_config))
        internals.set_task_identity()
        self._mods = internals.ModSwitch()
        self._mods.install()
        sys.path.insert(0, str(settings.project))
        self._hook = self._install_hook(components["clientapp"])
        self._client = self._load(components["clientapp"], "ClientApp")
        self._mods.require_single_updates()
        self._strategies = internals.StrategyRecord()
        self._strategies.install()
        self._template, n_rounds = self._first_message(components["serverapp"])
        self._sent = internals.arrays_of(self._template.content, "the message of the ServerApp")
        self._n_messages = max(n_rounds, int(self._run_config.get("num-server-rounds", 1)))
        self._stack: LinearStack | None = None
        self._keeps_state = False

    def _install_hook(self, client: str) -> DataHook:
        settings = self._settings
        hook = DataHook(settings.data_hook)
        if settings.inject is not None:
            hook.inject = load_inject(settings.inject, settings.folder)
        with self._user_code(f"importing {settings.data_hook}"):
            module, path = hook_place(settings.data_hook, settings.project, client.partition(":")[0])
            hook.install(module, path)
        return hook

    def _load(self, reference: str, kind: str) -> Any:
        import flwr.clientapp
        import flwr.serverapp

        with self._user_code(f"importing {reference}"):
            app = internals.load_app(reference, self._settings.project)
        if not isinstance(app, getattr(flwr.clientapp, kind, None) or getattr(flwr.serverapp, kind)):
            raise BadInput(f"challenger.app: {reference} must be a {kind}, got {type(app).__name__}")
        return app

    def _first_message(self, reference: str) -> tuple[Any, int]:
        server = self._load(reference, "ServerApp")
        with self._user_code("the ServerApp"):
            return internals.first_train_message(
                server, self._client, self._context, self._settings.partitions
            )

    def _context(self, number: int) -> Any:
        return internals.new_context(number, self._run_config, self._settings.partitions)

    def _user_code(self, what: str) -> "_UserCode":
        return _UserCode(what, self._asked_network)

    def describe(self, report_progress: Callable[[], None] = lambda: None) -> AppDescription:
        """Collect the rows of all partitions, and find the layers in which weights are crafted."""
        settings = self._settings
        counts = []
        for partition in range(settings.partitions):
            report_progress()
            context = self._context(partition)
            message = internals.message_with_arrays(self._template, {})
            with self._user_code("the client"):
                counts.append(self._hook.collect(partition, partial(self._client, message, context)))
        self._refuse_equal_partitions(counts)
        probe = distinct_arrays(self._sent, np.random.default_rng(0))
        recorder = ForwardRecorder()
        whole = tuple((settings.partition, row) for row in range(counts[settings.partition]))
        game = ClientGame(arrays=probe, rows=whole, seed=0, protection="off")
        report_progress()
        with recorder.watching():
            update = self.play(game).update
        moved = {name for name, array in update.items() if np.any(array)}
        self._stack = find_linear_stack(recorder.calls, probe, moved or None)
        stated, kinds = self._mods.handled(self._client, self._template.metadata.message_type)
        channels = (*stated, *self._channels(replace(game, protection="on"), report_progress))
        rows, own = counts[settings.partition], settings.inject  # which loads any number of rows
        others = [n for n, m in enumerate(counts) if n != settings.partition and (own or m == rows)]
        return AppDescription(
            sent=self._sent,
            n_rows=tuple(counts),
            labels=self._labels(counts),
            stack=self._stack,
            notes=self._notes(),
            protections=self._protections(),
            keeps_state=self._keeps_state,
            n_messages=self._n_messages,
            other_kinds=kinds,
            other_client=next(iter(others), None),
            channels=channels,
        )

    def _channels(self, game: ClientGame, report_progress: Callable[[], None]) -> tuple[NoisyChannel, ...]:
        """Play games with the app's protection, and return what is known of its noise.

        One game shows how often rows are read if each is read once, or the sampler states its rate.
        """
        if not self._protections():
            return ()
        record, known = internals.OpacusRecord(), dict[bytes, set[int]]()
        for number in range(_RECORDED_RUNS):
            report_progress()
            one, seen = replace(game, seed=number), TrainingRows(known)
            with record.recording(seen), self._watching(seen):
                self.play(one)
            rows = seen.rows() if seen.step_ends else []
            if rows is None and seen.is_complete:
                run = partial(self._exchanged, one, report_progress)
                if rows := rows_by_exchange(seen.examples, len(one.rows), run):
                    seen.learn(rows)
            record.add_run(None if rows is None else seen.steps(rows), len(one.rows))
            if record.is_complete:
                break
        opacus = record.channel()
        return (opacus,) if opacus else ()

    @contextmanager
    def _watching(self, seen: TrainingRows) -> Iterator[None]:
        self._hook.watcher = seen
        try:
            with seen.watching():
                yield
        finally:
            self._hook.watcher = None

    def _exchanged(
        self, game: ClientGame, report_progress: Callable[[], None], exchanged: npt.NDArray[np.bool_]
    ) -> list[Example]:
        """What enters the network in the same game with other rows in some places."""
        report_progress()
        seen, n_partitions = TrainingRows(), self._settings.partitions
        rows = []
        for key, is_exchanged in zip(game.rows, exchanged):
            partition, row = key
            if is_exchanged:
                partition, row = ((partition + 1) % n_partitions, row + (n_partitions == 1))
            rows.append((partition, row % len(self._hook.sources[partition])))
        with self._watching(seen):
            self.play(replace(game, rows=tuple(rows)))
        return seen.examples

    def _refuse_equal_partitions(self, counts: list[int]) -> None:
        sources = self._hook.sources
        if min(counts) == 0:
            raise BadInput(f"{self._settings.data_hook}: partition {counts.index(0)} has no rows")
        if len(sources) > 1:
            few = [[_flat(sources[p][row]) for row in range(min(3, *counts))] for p in (0, 1)]
            if all(np.array_equal(a, b) for a, b in zip(*few)):
                raise BadInput(
                    f"{self._settings.data_hook} gave the same rows for partition 0 and 1, so that a target "
                    f"would be among the others too; use context.node_config['partition-id'], or {WAY_OUT}"
                )

    def _labels(self, counts: list[int]) -> dict[RowKey, int]:
        """The labels of all rows, where they have the usual place in a row."""
        found = {}
        for partition, count in enumerate(counts):
            source = self._hook.sources[partition]
            for row in range(count):
                label = _label_of(source[row])
                if label is None:
                    return {}
                found[partition, row] = label
        return found

    def _protections(self) -> tuple[str, ...]:
        opacus = {"Opacus"} if "opacus" in sys.modules else set()
        return tuple(sorted(self._mods.names | opacus))

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if workers := self._hook.worker_processes:
            notes.append(
                f"the app's loader has {workers} worker processes; here the client loads rows itself"
            )
        notes.extend(
            f"{name}: its noise is added by the server itself, and does not protect from a dishonest server"
            for name in sorted(self._strategies.names)
        )
        if self._keeps_state:
            notes.append("the client keeps state between messages; in every round it starts without any")
        return tuple(notes)

    def play(self, game: ClientGame) -> ClientAnswer:
        """Send the client a message and return its answer."""
        message = internals.message_with_arrays(self._template, game.arrays, game.kind, game.number)
        if game.kind != "train":
            return ClientAnswer({}, self._other_fields(message, game))
        if not game.features or self._stack is None:
            return self._answer(message, game)
        recorder, seen = ForwardRecorder(stack=self._stack), TrainingRows()
        with recorder.watching(), self._watching(seen):
            answer = self._answer(message, game)
        return _with_features(answer, recorder, seen, self._hook)

    def _other_fields(self, message: Any, game: ClientGame) -> dict[str, float]:
        """The fields of the reply to a message of another kind; NaN where the client cannot handle it."""
        try:
            fields = internals.reply_fields(self.reply(message, game), message, ())
        except BadInput:
            fields = {"error": np.nan}
        return {f"{name} ({game.kind})": value for name, value in fields.items()}

    def _answer(self, message: Any, game: ClientGame) -> ClientAnswer:
        return answer_in(self.reply(message, game), message)

    @property
    def template(self) -> Any:
        """The first message to train that the app's own server sends."""
        return self._template

    def reply(self, message: Any, game: ClientGame) -> Any:
        """Let the app's client handle a message with the rows, the seed and the protection of a game."""
        audited, hook = self._settings.partition, self._hook
        context = self._context(audited if game.partition is None else game.partition)
        hook.rows, hook.current, hook.calls = game.rows, None, 0
        self._mods.protection = game.protection
        _seed_generators(game.seed)
        try:
            with self._user_code("the client"), internals.opacus_switched(game.protection):
                reply = self._client(message, context)
        finally:
            hook.rows = None
        self._keeps_state |= len(context.state) > 0
        if not reply.has_error() and game.kind == "train":
            self._require_reading()
        return reply

    def _require_reading(self) -> None:
        hook = self._hook
        if hook.calls == 0:
            raise BadInput(f"rows ignored: the client never called {hook.name} while it trained")
        if hook.current is not None and not hook.current.fetched:
            raise BadInput(
                f"rows ignored: the client called {hook.name}, but read none of its rows through the loader; "
                + WAY_OUT
            )


def answer_in(reply: Any, message: Any) -> ClientAnswer:
    """Return all that a reply holds, as an attack reads it."""
    update = update_in(reply, internals.arrays_of(message.content, "the message"))
    return ClientAnswer(update, internals.reply_fields(reply, message, update))


def update_in(reply: Any, sent: Arrays) -> Arrays:
    """Return the difference of the arrays in a reply from those that were sent; refuse a wrong shape."""
    if reply.has_error():
        raise BadInput(f"the client answered with an error: {' '.join(str(reply.error.reason).split())}")
    got = internals.arrays_of(reply.content, "the client's answer")
    if set(got) != set(sent) and len(got) == len(sent):
        got = dict(zip(sent, got.values()))
    for name, array in sent.items():
        if name not in got:
            raise BadInput(
                f"the client's answer has {len(got)} arrays, and {len(sent)} were sent; it must answer "
                "with the whole model"
            )
        if got[name].shape != array.shape:
            raise BadInput(
                f"the client's answer has the shape {got[name].shape} for {name!r}; {array.shape} was "
                "sent, and the whole model must come back"
            )
    kinds = {name: np.result_type(array, np.float32) for name, array in got.items()}
    return {name: got[name].astype(kinds[name]) - array.astype(kinds[name]) for name, array in sent.items()}


class _UserCode:
    """Turns what the user's code raises into one line; a request to the network is named as such."""

    def __init__(self, what: str, asked_network: list[str]) -> None:
        self._what, self._asked = what, asked_network

    def __enter__(self) -> None:
        warnings.simplefilter("ignore")

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if error is None or isinstance(error, KeyboardInterrupt) or _is_ours(error):
            return
        if self._asked:
            raise BadInput(
                f"{self._what} asked the network for {self._asked[-1]}, and an audit has no network access: "
                f"load the data before, or {WAY_OUT}"
            ) from None
        if isinstance(error, BadInput):
            return
        raise BadInput(f"{self._what} raised {error_with_location(error)}") from None


def _is_ours(error: BaseException) -> bool:
    return not isinstance(error, Exception | SystemExit)


def _with_features(
    answer: ClientAnswer, recorder: ForwardRecorder, seen: TrainingRows, hook: DataHook
) -> ClientAnswer:
    """Add the features of an answer, and the row that each belongs to.

    A row is recognised in what enters the network; where that is not possible, rows are taken to be trained
    on in the order in which they were read.
    """
    if hook.current is None or not recorder.inputs:
        raise BadInput("the first crafted layer saw no row while the client trained")
    if len({inputs.shape[1:] for inputs in recorder.inputs}) > 1:
        raise BadInput("rows have different numbers of inputs to the crafted layer; pad them to one length")
    features = np.concatenate(recorder.inputs)
    rows, read = seen.rows(), hook.current.fetched
    if rows is not None and len(rows) == len(features) and all(rows):
        positions = [
            read[place] if place < len(read) and read[place] in found else found[0]
            for place, found in enumerate(rows)
        ]
        return replace(answer, features=features, positions=np.array(positions, np.int64))
    fetched = np.array(read, np.int64)
    if len(features) != len(fetched):
        kept = min(len(features), len(fetched))  # a loader may drop the last rows, or read some twice
        if len(features) % len(fetched) and len(fetched) % len(features):
            features, fetched = features[:kept], fetched[:kept]
        elif len(features) > len(fetched):
            fetched = np.tile(fetched, len(features) // len(fetched))
    return replace(answer, features=features, positions=fetched[: len(features)])


def _seed_generators(seed: int) -> None:
    """Seed the global generators, from which the user's code draws; this process runs nothing else."""
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    torch.manual_seed(seed)


def _label_of(item: Any) -> int | None:
    if isinstance(item, dict):
        found = next((item[key] for key in _LABEL_KEYS if key in item), None)
    else:
        found = item[-1] if isinstance(item, tuple | list) and len(item) >= 2 else None
    values = np.asarray(found)
    return int(values) if found is not None and values.size == 1 and values.dtype.kind in "iu" else None


def _flat(item: Any) -> Any:
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, tuple | list) else [item]
    return np.concatenate(
        [np.asarray(part, np.float64).ravel() for part in parts if _is_numeric(part)] or [np.zeros(0)]
    )


def _is_numeric(part: Any) -> bool:
    return np.asarray(part).dtype.kind in "iufb"


def _block_network() -> list[str]:
    """Refuse connections beyond this machine; return the list of hosts that the app asked for."""
    asked: list[str] = []

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo":
            host: Any = arguments[0]
        elif event in ("socket.connect", "socket.sendto"):
            host = arguments[1][0] if isinstance(arguments[1], tuple) else None
        else:
            return
        host = host.decode() if isinstance(host, bytes) else host
        if host not in _LOCAL_HOSTS:
            asked.append(str(host))
            raise OSError(f"no network access: {host}")

    sys.addaudithook(refuse)
    return asked


def main() -> None:
    """Serve one audit in the process that ``client_process`` starts.

    Settings arrive on standard input, then games; answers go to standard output. What the app prints goes to
    standard error.
    """
    source = sys.stdin.buffer
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    runner: Any = None
    answer: Any

    def send(message: Any) -> None:
        pickle.dump(message, out)
        out.flush()

    with suppress(EOFError):
        while True:
            request = pickle.load(source)
            try:
                if isinstance(request, AppSettings):
                    runner, answer = _start(request, send)
                else:
                    answer = runner.play(request)
            except BadInput as error:
                answer = Failure(str(error).removeprefix("challenger.app: "))
            send(answer)
    os._exit(0)  # threads of the app may still run


def _start(settings: AppSettings, send: Callable[[Any], None]) -> tuple[AppRunner, AppDescription]:
    import torch

    torch.set_num_threads(1)
    send(Progress())
    runner = AppRunner(settings)
    return runner, runner.describe(lambda: send(Progress()))
