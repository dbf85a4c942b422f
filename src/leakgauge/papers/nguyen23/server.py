"""The dishonest server of a game, for results that are computed without simulated rounds."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import knowledge
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.challenger import Challenger, build_clients
from leakgauge.domains.federated.clients.utility import ClassifierUtility, classifier_utility
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.papers.nguyen23.data import DataColumn, FeatureForm
from leakgauge.papers.nguyen23.plans import LIKELIHOOD, SEED, audit_table, likelihood_attack
from leakgauge.papers.paper import Scope
from leakgauge.plan import Audit, Plan, plan_of
from leakgauge.support.table_reader import read_dataclass

UTILITY, BESIDE = 1, 2  # blocks of the stream of studies; the attacks of a game use the first, 0


@dataclass(frozen=True, eq=False)
class AuditSetup:
    """An audit of a plan with its challenger: the same rows and targets as in the rounds."""

    seed: int
    challenger: Challenger
    attacks: dict[str, dict[str, Any]]  # parameters by label

    @property
    def server(self) -> knowledge.ServerKnowledge:
        return knowledge.server_knowledge(self.challenger)

    @property
    def exact_epsilon(self) -> float | None:
        """The epsilon by the noise distribution, in contrast to the nominal one."""
        stated = self.challenger.guarantee
        return None if stated is None else stated.exact_epsilon

    def rng(self) -> Generator:
        """For draws outside the rounds."""
        return stream(self.seed, Role.STUDY, BESIDE)

    def craft(self, targets: int) -> tuple[knowledge.ServerKnowledge, list[CraftedNeuron]]:
        """The likelihood neurons of the first targets, as in the rounds, and a server with these targets."""
        server, rng = self.server, stream(self.seed, Role.STUDY)
        few = replace(server, targets=server.targets[:targets], target_labels=server.target_labels[:targets])
        return few, self.attack().craft(few, rng)

    def attack(self) -> Attack:
        """The likelihood neuron of the plan."""
        return read_dataclass(Attack, self.attacks[LIKELIHOOD], "likelihood_neuron")

    def utility(self) -> ClassifierUtility:
        """The accuracy of an honest classifier of the clients' perturbed rows."""
        training, rng = self.challenger.training, stream(self.seed, Role.STUDY, UTILITY)
        return classifier_utility(self.challenger.pool, training.mechanism, rng)


def audit_setup(plans: Iterable[Plan], name: str) -> AuditSetup:
    """Set up one audit of some plans."""
    for plan in plans:
        for audit in plan.audits:
            if audit.name == name:
                return _setup(audit, plan.seed)
    raise BadInput(f"no audit is called {name!r} in these plans")


def setup_without_games(
    scope: Scope, column: DataColumn, form: FeatureForm, mechanism: dict[str, Any]
) -> AuditSetup:
    """The same for an item without simulated games: with five targets, and always the same seed."""
    name = "beside"
    audit = audit_table(name, scope, column, form, mechanism, [likelihood_attack(column, form)], targets=5)
    return audit_setup([plan_of({"seed": SEED, "audit": [audit]})], name)


def _setup(audit: Audit, seed: int) -> AuditSetup:
    challenger = build_clients(
        data=audit.data,
        challenger=audit.challenger,
        mechanism=audit.mechanism,
        folder=Path(),
        seed=seed,
    )
    attacks = {contender.label: contender.attack_parameters for contender in audit.contenders}
    return AuditSetup(seed, challenger, attacks)
