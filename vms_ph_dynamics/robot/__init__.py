"""What builds a robot: joints and their limits, mimic joints, inertia, links."""
