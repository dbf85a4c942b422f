"""From files to a table of features, classes and groups."""
