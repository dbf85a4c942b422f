"""The search for the most useful settings of a plan whose risk stays under a limit: ``leakgauge tune``."""
