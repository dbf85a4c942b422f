"""What one may know about a coin."""

from dataclasses import dataclass

from leakgauge.support.table_reader import read_dataclass


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """Only what comes out."""

    shift: float = 0.0

    def view(self, block):
        return block


@dataclass(frozen=True, kw_only=True)
class Little:
    """Hardly more."""

    def view(self, block):
        return block


KINDS = {"nothing": Nothing, "little": Little}


def build(name, parameters, challenger, seed):
    return read_dataclass(KINDS[name], parameters, f"knowledge {name!r}")
