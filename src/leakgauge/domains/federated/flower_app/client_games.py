"""What passes between the audit and the process that runs a user's Flower app."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.domains.federated.flower_app.noisy_channel import NoisyChannel

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]  # by their names in the app's messages
RowKey: TypeAlias = tuple[int, int]  # partition, position in it

Protection = Literal["on", "clipping", "off"]
"""What of the app's own protection works in a game: all of it, all but the noise of known mods, or nothing
that can be switched off."""


LAYOUT = "the names, types and shapes"  # of a reply, taken as one field


@dataclass(frozen=True, kw_only=True)
class AppSettings:
    """Which project is run and how; the same settings are served by the same process."""

    project: Path
    data_hook: str
    inject: str | None
    folder: Path  # of the plan, where ``inject`` is
    run_config: tuple[tuple[str, Any], ...]
    partitions: int
    partition: int  # of the client that is audited
    timeout: float  # seconds, for one message


@dataclass(frozen=True, kw_only=True)
class ClientGame:
    """One message to the app's client: which arrays replace those of the app's server, and its rows."""

    arrays: Arrays
    rows: tuple[RowKey, ...]
    seed: int
    protection: Protection = "on"
    kind: str = "train"  # of the message; of another, only the fields of the reply are returned
    partition: int | None = None  # of the client that answers; without it, of the one that is audited
    number: int = 1  # of the training round that the message is of
    features: bool = False  # also return what enters the crafted layers; never for a counted round


@dataclass(frozen=True, eq=False)
class ClientAnswer:
    """What the client sent back, as the difference from what it was sent.

    ``fields`` are all other parts of its reply, by name: numbers as they are, and digests of anything else.
    ``features`` are the inputs of the first crafted layer, and ``positions`` the row that each belongs to.
    """

    update: Arrays
    fields: Mapping[str, float] = field(default_factory=dict)
    features: npt.NDArray[np.float32] | None = None
    positions: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class LinearStack:
    """Consecutive linear layers of the user's network: names of their weights and biases.

    Two layers with a ReLU between them, or three with two; ``smooth`` says that it is a GELU or SiLU, which
    are the same for large numbers. ``dropout`` says whether values are dropped between them. The last of them
    ``ends`` the network, or other layers follow; ``gated`` says that a ReLU follows the second then.

    ``place`` counts earlier layers of the same shape. Where a row has several inputs, such as the patches of
    an image, ``tokens`` are the positions through which gradients flow, and ``row_axis`` is that of rows.
    """

    weights: tuple[str, ...]
    biases: tuple[str | None, ...]
    dropout: bool
    features: int  # that enter the first of them
    width: int  # outputs of the first layer
    smooth: bool = False
    ends: bool = True
    gated: bool = False
    place: int = 0
    tokens: tuple[int, ...] | None = None
    row_axis: int = 0

    @property
    def in_second(self) -> bool:
        """Whether the crafted neuron is in the second layer; otherwise it is in the first."""
        return self.gated or len(self.weights) == 3


@dataclass(frozen=True, kw_only=True)
class AppDescription:
    """What was found in a project: the first message of its server, the rows, the network."""

    sent: Arrays
    n_rows: tuple[int, ...]  # of each partition
    labels: dict[RowKey, int]
    stack: LinearStack
    notes: tuple[str, ...]
    protections: tuple[str, ...]  # names of the mods and libraries whose noise or clipping can be off
    keeps_state: bool  # in ``context.state``
    n_messages: int = 1  # to train that the app's server sends a client, at most
    other_kinds: tuple[str, ...] = ()  # of messages that the client has functions for
    other_client: int | None = None  # that can be given the rows of the client that is audited
    channels: tuple[NoisyChannel, ...] = ()  # clipping and Gaussian noise whose parameters are known


@dataclass(frozen=True, eq=False)
class AppRows:
    """Which rows of the app are targets, which are the attacker's own, and which clients draw theirs from."""

    targets: tuple[RowKey, ...]
    reference: tuple[RowKey, ...]
    pool: tuple[RowKey, ...]
    per_client: int

    def draw(
        self, rows: Sequence[RowKey], target: RowKey | None, rng: Generator, *, copies: int = 1
    ) -> tuple[RowKey, ...]:
        """Draw the rows of one client; a target takes the place of one of them, or of several."""
        again = len(rows) < self.per_client
        drawn = [rows[place] for place in rng.choice(len(rows), self.per_client, replace=again)]
        place = int(rng.integers(len(drawn)))  # drawn always, so that only the target differs
        if target is not None:
            for copy in range(copies):
                drawn[(place + copy) % len(drawn)] = target
        return tuple(drawn)


def fields_and_layout(fields: Mapping[str, float]) -> set[tuple[str, float]]:
    """The names of the fields of a reply, and the value of its layout."""
    return {(name, value if name == LAYOUT else 0.0) for name, value in fields.items()}


def field_words(name: str) -> str:
    """Name a field for people."""
    return f"{name if name == LAYOUT else f'the field {name}'} of a reply"


@dataclass(frozen=True)
class Progress:
    """A step of a request is done; the time limit begins anew."""


@dataclass(frozen=True)
class Failure:
    """Why the process could not do what it was asked; ``text`` is one line for people."""

    text: str
