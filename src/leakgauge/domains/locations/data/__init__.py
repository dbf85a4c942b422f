"""Visit data: reading files, generating a synthetic city, traces, contribution bounds and the split of the population."""
