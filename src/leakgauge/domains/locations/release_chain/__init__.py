"""From true counts to published counts: noise, rounding, clamping, suppression, and their probabilities."""
