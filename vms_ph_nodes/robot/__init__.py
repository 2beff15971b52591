"""The robot of a node: its description, state, topics, references and external efforts."""
