"""How exposed people are by the cells they move."""
