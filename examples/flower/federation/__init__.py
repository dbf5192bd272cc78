"""A simulated federation: eight shops that learn from what customers choose, and sell what they learned."""
