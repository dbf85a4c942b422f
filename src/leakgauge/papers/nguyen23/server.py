"""The dishonest server of a game, for what is worked out beside the rounds."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import knowledge
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.challenger import Challenger, build
from leakgauge.domains.federated.clients.utility import ClassifierUtility, classifier_utility
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.papers.nguyen23.data import DataColumn, FeatureForm
from leakgauge.papers.nguyen23.plans import LIKELIHOOD, SEED, likelihood_attack, write_audit
from leakgauge.papers.paper import Scope
from leakgauge.support.table_reader import read_dataclass

UTILITY, BESIDE = 1, 2  # blocks of the stream of studies; the attacks of a game use the first, 0


@dataclass(frozen=True, eq=False)
class AuditSetup:
    """An audit of a plan with its challenger: the same rows and targets as in the rounds."""

    seed: int
    challenger: Challenger
    attacks: dict[str, dict[str, Any]]  # by label

    @property
    def server(self) -> ServerKnowledge:
        return knowledge.build("server", {}, self.challenger, self.seed)

    @property
    def exact_epsilon(self) -> float | None:
        """By the law of the noise, beside the one on its label."""
        stated = self.challenger.guarantee
        return None if stated is None else stated.exact_epsilon

    def rng(self) -> Generator:
        """For what is drawn beside the rounds."""
        return stream(self.seed, Role.STUDY, BESIDE)

    def craft(self, targets: int) -> tuple[ServerKnowledge, list[CraftedNeuron]]:
        """The likelihood neurons of the first targets, as in the rounds, and a server after them alone."""
        server, rng = self.server, stream(self.seed, Role.STUDY)
        few = replace(server, targets=server.targets[:targets], target_labels=server.target_labels[:targets])
        return few, self.attack().craft(few, rng)

    def attack(self) -> Attack:
        """The likelihood neuron of the plan."""
        said = {key: value for key, value in self.attacks[LIKELIHOOD].items() if key not in ("name", "label")}
        return read_dataclass(Attack, said, "likelihood_neuron")

    def utility(self) -> ClassifierUtility:
        """What an honest classifier makes of the clients' perturbed rows."""
        return classifier_utility(
            self.challenger.pool, self.challenger.training.mechanism, stream(self.seed, Role.STUDY, UTILITY)
        )


def audit_setup(plans: Iterable[str], name: str) -> AuditSetup:
    """Set up one audit of some plans."""
    for plan in plans:
        table = tomllib.loads(plan)
        for audit in table["audit"]:
            if audit["name"] == name:
                return _setup(audit, table.get("seed", SEED))
    raise BadInput(f"no audit is called {name!r} in these plans")


def setup_without_games(scope: Scope, column: DataColumn, form: FeatureForm, mechanism: str) -> AuditSetup:
    """The same for an item that plays nothing: with five targets, of a seed that is always the same."""
    name = "beside"
    audit = write_audit(name, scope, column, form, mechanism, [likelihood_attack(column, form)], targets=5)
    return audit_setup([f"seed = {SEED}\n{audit}"], name)


def _setup(audit: Mapping[str, Any], seed: int) -> AuditSetup:
    challenger = build(
        data=audit["data"],
        challenger=audit["challenger"],
        mechanism=audit["mechanism"],
        folder=Path(),
        seed=seed,
    )
    return AuditSetup(seed, challenger, {one["label"]: one for one in audit["attacks"]})
