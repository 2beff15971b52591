"""What acts on a robot: friction, fluids, actuators and their allocation."""
