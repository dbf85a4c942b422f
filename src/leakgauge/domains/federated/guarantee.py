"""The guarantee of a federated client for each of its rows."""

from dataclasses import replace
from math import isclose

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.domains.federated.own_perturbation import OwnPerturbation
from leakgauge.domains.federated.plan_tables import FederatedChallengerTable
from leakgauge.theory.stated_promise import StatedPromise


def client_guarantee(table: FederatedChallengerTable, noise: Mechanism | None) -> Guarantee | None:
    """Return the guarantee of the noise on gradients, else of the noise on rows; None without any claim.

    A claim in numbers stands beside what the noise gives; it may also be about noise that a client's own app
    adds. Otherwise the label of the noise on rows is judged, also where a scale stands beside it, or the
    exact epsilon.
    """
    if table.gradient_noise is not None:
        known: Guarantee | None = table.gradient_noise.guarantee(table.iterations)
    elif isinstance(noise, OwnPerturbation):
        known = _own_guarantee(table, noise)
    else:
        known = None if noise is None else noise.guarantee
    if isinstance(table.promise, StatedPromise):
        return table.promise.beside(known or Guarantee(epsilon=0.0, relation=Relation.REPLACE_ONE))
    if known is None or table.gradient_noise is not None:
        return known
    return _exact(known) if table.promise == "exact" else _labelled(known)


def _own_guarantee(table: FederatedChallengerTable, noise: OwnPerturbation) -> Guarantee | None:
    if table.promise == "exact":
        raise BadInput(
            'challenger.promise = "exact": the exact epsilon of your own perturbation is not known; state '
            "promise = { epsilon = ..., delta = ... }"
        )
    if noise.stated is not None and isinstance(table.promise, StatedPromise):
        raise BadInput("mechanism.epsilon and challenger.promise state two claims; leave out one of them")
    return noise.stated


def _exact(known: Guarantee) -> Guarantee:
    return known if known.exact_epsilon is None else replace(known, epsilon=known.exact_epsilon)


def _labelled(known: Guarantee) -> Guarantee:
    """The epsilon on the label, where one is given; a curve that belongs to another one is left out."""
    label = known.nominal_epsilon
    if label is None or isclose(label, known.epsilon, rel_tol=1e-9):
        return known
    return replace(known, epsilon=label, curve=None)
