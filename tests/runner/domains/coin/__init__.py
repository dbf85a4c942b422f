"""A domain for tests: the release is a biased coin per target."""

DEFAULT_ATTACKS = ("peek",)
