"""Models that an adversary trains itself, and what it reads off them."""
