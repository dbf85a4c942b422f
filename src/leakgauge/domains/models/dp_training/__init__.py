"""The user's own DP training: every noisy step is watched, and compared with what the claim needs."""
