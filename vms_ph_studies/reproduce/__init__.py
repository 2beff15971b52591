"""Results of the sources, computed again: one folder for each source."""
