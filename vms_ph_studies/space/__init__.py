"""Studies of free-floating robots: reorientation, reactionless motion, capture."""
