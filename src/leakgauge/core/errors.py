"""What can go wrong that a user can mend."""


class BadInput(Exception):
    """Something the user gave is wrong; the message names it, shows it, states the rule and the way out."""


class IncompleteRun(Exception):
    """A run folder does not hold all of its rounds yet; the message says how to go on."""


class ReleaseLost(Exception):
    """What a release said was lost on the way: no evidence of anything; its block is to be played again."""
