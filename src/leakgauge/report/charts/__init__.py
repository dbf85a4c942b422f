"""Charts of a page, one file for each kind; reports of runs and of reproductions use the same ones."""
