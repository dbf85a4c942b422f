"""The `mechanism` table of a noisy mean: which feature, and the noise on the sum of its values in [0, 1]."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.data.dataset import EncodedTable
from leakgauge.mechanisms import mechanism_class, name_of
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.support.table_reader import read_dataclass, require_known

MIN_NOISE_SCALE = 1e-6


def read_sum_noise(table: Mapping[str, Any]) -> tuple[AdditiveNoise, str | None]:
    """Read the noise on a sum, which one record changes by at most 1, and the feature if one is named."""
    parameters = dict(table)
    name, feature = parameters.pop("name"), parameters.pop("feature", None)
    for key, way_out in {
        "sensitivity": "one value in [0, 1] changes a sum by at most 1",
        "unit": "the game is about a record",
    }.items():
        if key in parameters:
            raise BadInput(f"mechanism {name!r}: {key} cannot be set: {way_out}; leave it out")
    if feature is not None and not isinstance(feature, str):
        raise BadInput(f"mechanism {name!r}.feature: must be the name of a feature, got {feature!r}")
    parameters.setdefault("relation", Relation.REPLACE_ONE.value)
    noise = read_dataclass(mechanism_class(name), parameters, f"mechanism {name!r}")
    if not noise.noise_scale >= MIN_NOISE_SCALE:
        raise BadInput(
            f"mechanism {name!r}: noise of {noise.noise_scale:.3g} on a sum of values in [0, 1] hides nothing"
            f"; {MIN_NOISE_SCALE:.0e} is the minimum: lower epsilon"
        )
    return noise, feature


def feature_values(loaded: EncodedTable, feature: str | None, noise: AdditiveNoise) -> tuple[str, Reals]:
    """The feature whose mean is released, and its values; by default the first one that fits.

    Noise on a lattice is for counts, so the feature must be 0 or 1.
    """
    if feature is not None:
        require_known(feature, loaded.names, "mechanism.feature: no feature")
    wanted = loaded.names if feature is None else (feature,)
    counts = noise.lattice
    for name in wanted:
        values = loaded.rows[:, loaded.names.index(name)].astype(np.float64)
        if not counts or np.isin(values, (0.0, 1.0)).all():
            return name, values
    raise BadInput(
        f"mechanism {name_of(noise)!r}: {wanted[0]!r} is not 0 or 1 in all rows; name a feature that is, or "
        "use laplace"
    )


def group_guarantee(noise: AdditiveNoise, n: int) -> Guarantee:
    """The promise to n records that change together: the same noise, on a sum that changes by n.

    Epsilon is n times that of a record; the curve is that of the whole change, which is tighter than n
    epsilon alone.
    """
    record = noise.guarantee
    group = noise.scaled_to(float(n), noise.noise_scale)
    return replace(
        group.guarantee,
        unit=Unit.GROUP,
        relation=Relation.REPLACE_ONE,
        nominal_epsilon=record.epsilon,
        nominal_unit=Unit.RECORD,
    )
