"""The search for an event that distinguishes the two inputs of a black box."""
