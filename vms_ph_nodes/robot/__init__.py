"""The robot as the nodes see it: parameters, motion, topics, references."""
