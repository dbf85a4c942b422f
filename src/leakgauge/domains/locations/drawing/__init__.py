"""Random groups of people, drawn and counted fast; the law is exact, with compiled loops and without them."""
