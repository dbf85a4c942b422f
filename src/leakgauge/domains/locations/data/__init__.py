"""Visit data: files, a synthetic city, traces, contribution bounds and the split of the population."""
