"""Clients with local differential privacy, and a target that is in one of their batches or not."""

from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.game import ChallengerDefaults, Coins
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.clients.gradients import require_torch
from leakgauge.domains.federated.clients.utility import classifier_utility, saturation_notes
from leakgauge.domains.federated.data.data_loader import load_rows
from leakgauge.domains.federated.data.dataset import OWN_PERTURBATION, PARTS, UTILITY
from leakgauge.domains.federated.data.row_split import split_rows
from leakgauge.domains.federated.flower_app import challenger as flower_app
from leakgauge.domains.federated.flower_app.app_table import APP_KEY
from leakgauge.domains.federated.flower_app.challenger import AppChallenger
from leakgauge.domains.federated.guarantee import client_guarantee
from leakgauge.domains.federated.neurons import network
from leakgauge.domains.federated.own_perturbation import OwnPerturbation
from leakgauge.domains.federated.plan_tables import read_challenger_table, read_mechanism_table
from leakgauge.domains.federated.release import ClientGroups, ClientPool, ClientTraining

WHOLE_GRADIENT_NOTE = (
    "gradients are clipped and noisy: of our attacks only full_gradient uses all of a gradient; the success "
    "of the others says little about this noise"
)


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """The attacker's own rows; none of them is a client's row or a target."""

    rows: network.Floats
    labels: Ints


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Owns the clients; a fair coin per round and target decides whether it is in a client's batch."""

    pool: ClientPool
    reference: ReferenceRows
    training: ClientTraining
    shape: network.PlantedNetworkShape
    guarantee: Guarantee | None
    digest: str
    notes: tuple[str, ...] = ()  # for reports; they contain no values of rows
    unread: tuple[str, ...] = ()  # of the noise on rows
    utility: dict[str, float] | None = None  # accuracies of an honest classifier

    coins = Coins.FAIR

    @property
    def n_targets(self) -> int:
        return len(self.pool.targets)

    @property
    def targets_digest(self) -> str:
        """Of the rows of clients and targets, in order."""
        digest = sha256()
        for part in vars(self.pool).values():
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    def release(self, members: Bits, rng: Generator) -> ClientGroups:
        return ClientGroups(self.pool, self.training, members, int(rng.integers(2**63)))

    def control(self) -> "Challenger":
        """One target that is not perturbed, through the same clients: no noise or clipping by this audit."""
        pool, training = self.pool, self.training
        plain = replace(training, mechanism=None, noise=None, iterations=1, present=1.0)
        digest = sha256("\n".join(("control", repr(plain), repr(self.shape))).encode())
        for part in (
            pool.rows,
            pool.labels,
            pool.targets[:1],
            pool.target_labels[:1],
            *vars(self.reference).values(),
        ):
            digest.update(np.ascontiguousarray(part).tobytes())
        return replace(
            self,
            pool=replace(pool, targets=pool.targets[:1], target_labels=pool.target_labels[:1]),
            training=plain,
            guarantee=None,
            digest=digest.hexdigest(),
        )


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> "Challenger | AppChallenger":
    """Build the challenger that the tables of a plan describe: a Flower app of the user, or our clients."""
    if APP_KEY in challenger:
        return flower_app.build(
            data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed
        )
    return build_clients(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed)


def build_clients(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Challenger:
    """Build the challenger with clients of our own."""
    table = read_challenger_table(challenger)
    require_torch()
    loaded = load_rows(data, folder, seed)
    parts = split_rows(
        loaded,
        targets=table.targets,
        reference=table.reference,
        batch=table.batch * table.clients,
        rng=stream(seed, Role.DATA, PARTS),
    )
    rows = loaded.features(parts.reference)
    noise = read_mechanism_table(mechanism, rows.shape[1], folder)
    unread: tuple[str, ...] = ()
    if isinstance(noise, OwnPerturbation):
        checked = rows[parts.reference].astype(np.float64)
        rng = stream(seed, Role.DATA, OWN_PERTURBATION)
        noise.require_fit(checked, table.batch, rng)
        unread = noise.unread_noise(checked, table.batch, rng)
    pool = ClientPool(
        rows[parts.clients], loaded.labels[parts.clients], rows[parts.targets], loaded.labels[parts.targets]
    )
    reference = ReferenceRows(rows[parts.reference], loaded.labels[parts.reference])
    training = ClientTraining(
        batch=table.batch,
        clients=table.clients,
        iterations=table.iterations,
        present=table.present,
        mechanism=noise,
        noise=table.gradient_noise,
    )
    notes = (*loaded.notes_on(rows), *parts.notes, *saturation_notes(rows, noise))
    utility = classifier_utility(pool, noise, stream(seed, Role.DATA, UTILITY)) if table.utility else None
    if utility is not None:
        notes += utility.notes
    if table.gradient_noise is not None:
        notes += (WHOLE_GRADIENT_NOTE,)
    identity = "\n".join((loaded.digest, repr(table), repr(noise)))
    return Challenger(
        pool=pool,
        reference=reference,
        training=training,
        shape=network.PlantedNetworkShape(
            classes=loaded.n_classes, neurons=table.neurons, chosen=table.chosen
        ),
        guarantee=client_guarantee(table, noise),
        digest=sha256(identity.encode(errors="surrogatepass")).hexdigest(),
        notes=notes,
        unread=unread,
        utility=None if utility is None else asdict(utility),
    )
