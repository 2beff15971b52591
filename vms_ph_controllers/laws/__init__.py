"""The control laws, one file each, and the terms that they are composed of."""
