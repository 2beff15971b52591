"""The tags of a launch file: reading each, checking it, carrying it out."""
