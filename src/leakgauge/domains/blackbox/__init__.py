"""Any Python callable, and a pair of neighbouring inputs."""

DEFAULT_ATTACKS = ("learned_event",)
