"""How an oracle counts what its answers have cost: one file is one way."""
