"""What is certain of a crafted neuron before any game is played."""

from dataclasses import dataclass

from leakgauge.core.game import Reals
from leakgauge.domains.federated.clients import Training
from leakgauge.theory.certificates import Mean, Rate, holds, smallest_error, success, success_of_any

ERROR = 1e-8  # of each bound; the broken probability delta of Nguyen et al.


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What was drawn of one target's neuron, and what follows from it.

    About the target it holds over its noise. About others it holds over the noise on the reference rows, for
    these rows as a population, whatever they were used for before: the noise is fresh. It carries over to
    clients as far as their rows make the neuron active no more often than the reference rows do. Without
    noise nothing is drawn but rows, on which the neuron was built: then it proves nothing about others.
    """

    own: Mean  # of the neuron's value at the perturbed target
    others: Mean  # at perturbed rows of the reference
    own_rate: Rate  # how often it is active
    others_rate: Rate
    rows: int  # in one answer of the clients
    present: float = 1.0  # share of batches in which a member is
    error: float = ERROR

    @classmethod
    def of(cls, own: Reals, others: Reals, width: float, training: Training, error: float) -> "Certificate":
        """By values that were drawn, all within an interval of that width."""
        return cls(
            own=Mean(value=float(own.mean()), n=own.size, width=width),
            others=Mean(value=float(others.mean()), n=others.size, width=width),
            own_rate=Rate(hits=int((own > 0).sum()), n=own.size),
            others_rate=Rate(hits=int((others > 0).sum()), n=others.size),
            rows=training.batch * training.clients,
            present=training.present,
            error=error,
        )

    @property
    def active_on_target(self) -> bool:
        """The first condition of theorem 1: the value at the target is above zero in the mean."""
        return self.own.low(self.error) > 0

    @property
    def silent_on_others(self) -> bool:
        """The second: at others it is not."""
        return self.others.high(self.error) <= 0

    @property
    def holds(self) -> bool:
        """Whether theorem 1 applies."""
        return holds(self.own, self.others, self.error)

    @property
    def smallest_error(self) -> float | None:
        """The smallest error at which it would (corollary 1)."""
        return smallest_error(self.own, self.others)

    @property
    def tpr(self) -> float:
        """How often the target makes the neuron active, at least (Clopper and Pearson)."""
        return self.own_rate.exact_low(self.error)

    @property
    def fpr(self) -> float:
        """How often another row does, at most."""
        return self.others_rate.exact_high(self.error)

    @property
    def success(self) -> float:
        """Games that the attack wins at least, if the rows of a batch are independent."""
        return success(self.tpr, self.fpr, self.rows, self.present)

    @property
    def success_of_any(self) -> float:
        """The same, however the rows of a batch depend on one another."""
        return success_of_any(self.tpr, self.fpr, self.rows, self.present)

    @property
    def hoeffding_success(self) -> float:
        """Games won at least by Hoeffding's bounds, for independent rows."""
        tpr, fpr = self.own_rate.low(self.error), self.others_rate.high(self.error)
        return success(tpr, fpr, self.rows, self.present)
