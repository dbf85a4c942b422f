"""Technical helpers that every layer may use; they import nothing but core."""
