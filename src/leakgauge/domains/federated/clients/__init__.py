"""What an honest client computes, and what its rows are still good for once they are perturbed."""
