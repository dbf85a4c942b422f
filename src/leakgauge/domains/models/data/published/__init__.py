"""Published data sets: one file each, with a class ``DataTable``; the file name is the source in plans."""
