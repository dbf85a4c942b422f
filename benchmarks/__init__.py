"""Speed as ratios inside one run; absolute seconds are for orientation."""
