"""How an oracle counts the cost of its answers: one accountant per file."""
