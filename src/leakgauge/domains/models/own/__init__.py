"""A model that somebody else trained, or what it said of some records: one release, and who was in it."""
