"""A dishonest server, and clients that perturb their rows before they train on them."""

from leakgauge.domains.federated.tables import LOCAL, NONE

MECHANISMS = dict.fromkeys((*LOCAL, NONE))  # the noise on rows

DEFAULT_ATTACKS = ({"name": "likelihood_neuron"},)
