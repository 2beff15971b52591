"""Source E: the equations of motion of free-floating robots."""
