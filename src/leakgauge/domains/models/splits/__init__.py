"""How members come to differ from others."""
