"""Questions to the referee, one file each."""
