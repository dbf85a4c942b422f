"""From crafted neurons to a studied attack: what to send, how to read answers, and what is known by then."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.random import Generator

from leakgauge.core.game import Scorer
from leakgauge.domains.federated.calming import calmed
from leakgauge.domains.federated.certifying import certified
from leakgauge.domains.federated.deciding import decide
from leakgauge.domains.federated.knowledge import Seen, Server
from leakgauge.domains.federated.model import Crafted
from leakgauge.domains.federated.stealth import stealth


def studied(
    knowledge: Server,
    crafted: Sequence[Crafted],
    rng: Generator,
    *,
    certify: bool,
    more: Mapping[str, float] | None = None,
) -> Scorer[Seen]:
    """Send one neuron for each target; say how far they are from honest ones, and what is certain of them."""
    crafted = calmed(knowledge, crafted, rng)
    scorer = decide(knowledge, crafted, rng)
    numbers = {
        "units": sum(one.units for one in crafted) / len(crafted),
        **(more or {}),
        **stealth(crafted, rng),
        **(certified(knowledge, crafted, rng) if certify else {}),
    }
    return replace(scorer, reading=replace(scorer.reading, studied=numbers))
