"""The gradients that an honest client computes, and the utility of its perturbed rows."""
