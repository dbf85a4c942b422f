"""From the component of a model and that of a record to the membership of the record."""

import numpy as np

from leakgauge.core.game import Reals


def mixture_ratio(of_model: Reals, of_record: Reals, with_record: Reals | None = None) -> Reals:
    """Log-likelihood ratio of being a member, in the game of a mixture; the last axis is that of components.

    With pi the chances of each component given the model, and rho those given the record (all components
    being as likely beforehand), a member is of the model's component and another record of any other one:
    the ratio is sum_k pi_k rho_k over sum_k pi_k (1 - rho_k) / (K - 1), Bayes' rule in the experiment of
    Humphries et al. (2023, algorithm 3). Arrays hold logarithms, up to a constant each. A member also is one
    of the rows behind the model; where that is known to matter, ``with_record`` is ``of_model`` with the
    record among them.

    >>> round(float(np.exp(mixture_ratio(np.log([0.75, 0.25]), np.log([0.75, 0.25])))), 6)  # 5/8 : 3/8
    1.666667
    """
    of_members = of_model if with_record is None else with_record
    same = np.logaddexp.reduce(of_members + of_record, axis=-1)
    kinds = of_record.shape[-1]
    apart = [
        of_model[..., kind] + np.logaddexp.reduce(np.delete(of_record, kind, axis=-1), axis=-1)
        for kind in range(kinds)
    ]
    return same - np.logaddexp.reduce(apart, axis=0) + np.log(kinds - 1)


def odds(of_record: Reals, kind: int) -> Reals:
    """Log ratio of a record of this component against one of any other, where the model's is known."""
    rest = np.logaddexp.reduce(np.delete(of_record, kind, axis=-1), axis=-1)
    return of_record[..., kind] - rest + np.log(of_record.shape[-1] - 1)
