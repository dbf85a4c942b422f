"""The parts of the exposure computation: what cells publish, and the scores that attackers compute from them."""
