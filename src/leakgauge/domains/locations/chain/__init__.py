"""The release chain, and the exact law of what it publishes."""
