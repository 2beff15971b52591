"""The actions of a launch file: parsing, checks and execution of every tag."""
