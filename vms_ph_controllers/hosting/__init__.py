"""Controllers by name, and between flat arrays for hosts in other languages."""
