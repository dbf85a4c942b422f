"""The challenger of a Flower app: its real client trains with or without the target among its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import NOISE_ERROR, ChallengerDefaults, Coins
from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.flower_app.app_table import AppTable, project_sources, read_app_table
from leakgauge.domains.federated.flower_app.client_games import (
    AppDescription,
    AppRows,
    AppSettings,
    Arrays,
    ClientAnswer,
    ClientGame,
    Protection,
    field_words,
    fields_and_layout,
)
from leakgauge.domains.federated.flower_app.client_process import client_process
from leakgauge.domains.federated.flower_app.path_check import PathCheck, check_path
from leakgauge.domains.federated.flower_app.reply_check import ReplyCheck, check_replies


@dataclass(frozen=True, eq=False)
class AppBlock:
    """The clients of a block; each trains once for every attacker, on the same rows with the same seed."""

    settings: AppSettings
    rows: AppRows
    members: Bits
    seed: int
    protection: Protection
    iterations: int = 1
    cross_check: int = 0
    _checked: list[bool] = field(default_factory=list, init=False, repr=False)

    def answers(self, arrays: Sequence[Arrays]) -> Iterator[list[list[ClientAnswer]]]:
        """Yield for each round, client and iteration an answer; a client got the arrays for its target."""
        process = client_process(self.settings)
        if self.cross_check and not self._checked:
            self._checked.append(True)
            self._compare_with_flower(arrays[0])
        for row in range(len(self.members)):
            yield [list(process.play(self.games(row, target, sent))) for target, sent in enumerate(arrays)]

    def _compare_with_flower(self, arrays: Arrays) -> None:
        """Play the first games also in Flower's simulation, and refuse a client that answers differently."""
        from leakgauge.domains.federated.flower_app.transport_apps import simulate_games

        games = [self.games(row, 0, arrays)[0] for row in range(min(self.cross_check, len(self.members)))]
        here = client_process(self.settings).play(games)
        for one, other in zip(here, simulate_games(self.settings, games)):
            for name, array in one.update.items():
                if not np.allclose(array, other.update[name], rtol=1e-3, atol=1e-6):
                    raise BadInput(
                        f"challenger.cross_check: in Flower's simulation the client sends another {name!r} "
                        "than in this process, for the same message; the audit would not be about the real "
                        "client"
                    )

    def games(self, row: int, target: int, arrays: Arrays) -> list[ClientGame]:
        """Return the messages to one client, one for each iteration: the same rows, and noise of its own."""
        rng = np.random.default_rng([self.seed, row, target])
        member = self.rows.targets[target] if self.members[row, target] else None
        drawn = self.rows.draw(self.rows.pool, member, rng)
        return [
            ClientGame(arrays=arrays, rows=drawn, seed=int(seed), protection=self.protection, number=number)
            for number, seed in enumerate(rng.integers(2**62, size=self.iterations), 1)
        ]


def mean_answer(answers: Sequence[ClientAnswer]) -> ClientAnswer:
    """Average the answers of a client to several messages."""
    first = answers[0]
    if len(answers) == 1:
        return first
    update = {name: np.mean([one.update[name] for one in answers], axis=0) for name in first.update}
    fields = {
        name: float(np.mean([one.fields.get(name, np.nan) for one in answers])) for name in first.fields
    }
    return replace(first, update=update, fields=fields)


@dataclass(frozen=True, eq=False)
class AppView:
    """A block as the server sees it: it may send arrays to the clients once.

    An attack adds the names of the fields of replies that it uses for every target to ``fields_read``, or ""
    for weights. ``fields_seen`` are those that came back.
    """

    n_rounds: int
    fields_read: set[str] = field(default_factory=set, init=False)
    fields_seen: set[tuple[str, float]] = field(default_factory=set, init=False)
    _block: AppBlock = field(repr=False)
    _sent: list[bool] = field(default_factory=list, init=False, repr=False)

    def answers(self, arrays: Sequence[Arrays]) -> Iterator[list[ClientAnswer]]:
        """Send every target's client the arrays for that target; yield rounds of mean answers."""
        if self._sent:
            raise BadInput("a server may send its models only once in a block; send all of them in one call")
        self._sent.append(True)
        for row in self._block.answers(arrays):
            self.fields_seen.update(*(fields_and_layout(one.fields) for answers in row for one in answers))
            yield [mean_answer(answers) for answers in row]


@dataclass(frozen=True, eq=False)
class AppChallenger(ChallengerDefaults):
    """Owns the rows of a Flower app; a fair coin decides whether a target is among a client's rows."""

    settings: AppSettings
    description: AppDescription
    rows: AppRows
    labels: tuple[int, ...]  # of the targets
    guarantee: Guarantee | None
    digest: str
    replies: ReplyCheck
    notes: tuple[str, ...] = ()
    protection: Protection = "on"
    iterations: int = 1
    cross_check: int = 0  # games of the positive control that Flower's simulation plays too

    coins = Coins.FAIR

    @property
    def n_targets(self) -> int:
        return len(self.rows.targets)

    @property
    def targets_digest(self) -> str:
        """Of the choice of rows and the place of the project."""
        return sha256(
            repr((self.settings.project.name, self.settings.data_hook, self.rows)).encode()
        ).hexdigest()

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    def release(self, members: Bits, rng: Generator) -> AppBlock:
        compared = self.cross_check if self.protection == "off" else 0
        seed = int(rng.integers(2**62))
        return AppBlock(self.settings, self.rows, members, seed, self.protection, self.iterations, compared)

    def utility_of(self, block: AppBlock) -> dict[str, Reals]:
        """In the positive control: how probable it is that random batches leave the target out."""
        chances = [
            (1 - one.reads / one.steps) ** (one.steps * self.iterations) / 2
            for one in self.description.channels
            if one.reads_are == "binomial" and self.protection == "off"
        ]
        return {NOISE_ERROR: np.full(len(block.members), max(chances))} if chances else {}

    def control(self) -> "AppChallenger":
        """One target through the same client, without the noise and clipping that can be switched off."""
        return replace(
            self,
            rows=replace(self.rows, targets=self.rows.targets[:1]),
            labels=self.labels[:1],
            guarantee=None,
            digest=sha256(f"control\n{self.digest}".encode()).hexdigest(),
            protection="off",
        )


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> AppChallenger:
    """Build the challenger of a Flower app, and check the path through its client."""
    table = read_app_table(challenger, data, mechanism)
    settings = table.settings(folder)
    process = client_process(settings)
    about = process.description
    guarantee = _guarantee(table, about)
    rows = split_app_rows(about, table, stream(seed, Role.DATA))
    path = check_path(process, rows, stateful=table.stateful)
    replies = check_replies(process, rows, path.features, table.promise, table.iterations)
    identity = repr((replace(settings, project=Path(), folder=Path()), table, rows.targets))
    return AppChallenger(
        settings=settings,
        description=about,
        rows=rows,
        labels=path.labels,
        guarantee=guarantee,
        digest=sha256(f"{identity}\n{project_sources(settings)}".encode()).hexdigest(),
        replies=replies,
        notes=(*_notes(about, rows, path, table, replies), *about.notes),
        iterations=table.iterations,
        cross_check=table.cross_check,
    )


def _guarantee(table: AppTable, about: AppDescription) -> Guarantee | None:
    """The claim of the plan; one about Gaussian noise needs a delta."""
    if table.promise is None:
        return None
    promise = table.promise
    if promise.delta == 0 and about.channels:
        raise BadInput(
            f"challenger.promise: epsilon = {promise.epsilon:g} is stated without delta, and the Gaussian "
            f"noise of {about.channels[0].name} keeps no epsilon without one; add delta = 1e-5, or what you "
            "claim"
        )
    return Guarantee(epsilon=promise.epsilon, delta=promise.delta, relation=Relation.REPLACE_ONE)


def split_app_rows(about: AppDescription, table: AppTable, rng: Generator) -> AppRows:
    """Choose targets among the rows of the audited client, and divide all other rows at random."""
    count = about.n_rows[table.partition]
    if table.targets.names is not None:
        targets = [(table.partition, _row_number(name, count)) for name in table.targets.names]
    else:
        if table.targets.how_many > count // 2:
            raise BadInput(f"targets = {table.targets.how_many}: the client has only {count} rows; lower it")
        chosen = rng.choice(count, table.targets.how_many, replace=False)
        targets = [(table.partition, int(row)) for row in chosen]
    others = [
        key
        for partition, rows in enumerate(about.n_rows)
        for row in range(rows)
        if (key := (partition, row)) not in targets
    ]
    mixed = [others[place] for place in rng.permutation(len(others))]
    share = table.reference
    n_reference = int(share) if isinstance(share, int) else round(share * len(mixed))
    for name, rows in (("the attacker", n_reference), ("the clients", len(mixed) - n_reference)):
        if rows <= count:
            raise BadInput(
                f"challenger.partitions = {table.partitions}: {name} would have {rows} rows, and a client's "
                f"{count} rows are drawn from them; raise partitions, or change reference = {share}"
            )
    return AppRows(tuple(targets), tuple(mixed[:n_reference]), tuple(mixed[n_reference:]), count)


def _row_number(name: str | int, count: int) -> int:
    if not (isinstance(name, int) and 0 <= name < count):
        raise BadInput(
            f"targets: {name!r} is outside the client's partition, which has the rows 0 to {count - 1}"
        )
    return name


def _notes(
    about: AppDescription, rows: AppRows, path: PathCheck, table: AppTable, replies: ReplyCheck
) -> list[str]:
    layers = " and ".join(name.removesuffix(".weight") for name in about.stack.weights)
    layers += "" if about.stack.ends else ", which other layers follow"
    notes = [
        f"the app's own client trains on {rows.per_client} rows; crafted weights are in {layers}",
        f"{len(rows.reference):,} rows are the attacker's own, {len(rows.pool):,} those of clients",
    ]
    if about.protections:
        off = ", ".join(about.protections)
        notes.append(f"the positive control leaves out {off}")
    beside = (*map(field_words, replies.varying), *replies.unread)
    notes.extend(channel.note(table.iterations, beside) for channel in about.channels)
    if table.cross_check:
        notes.append(
            f"{table.cross_check} games were also played in Flower's simulation, with the same answers"
        )
    return [*notes, *path.notes]
