"""A dishonest server, and clients that perturb their rows before they train on them."""

from leakgauge.domains.federated.plan_tables import NO_NOISE, ROW_MECHANISMS

MECHANISMS = dict.fromkeys((*ROW_MECHANISMS, NO_NOISE))  # the noise on rows

DEFAULT_ATTACKS = ({"name": "likelihood_neuron"},)
