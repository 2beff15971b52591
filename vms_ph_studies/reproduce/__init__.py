"""Reproduced results of the sources, one folder for each source."""
