"""The parts of the exposure computation: what cells publish, and the scores of attackers."""
