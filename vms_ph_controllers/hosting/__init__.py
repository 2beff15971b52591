"""Loading of controllers by name, and their interface for hosts in other languages."""
