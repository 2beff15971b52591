"""Views of the robot: markers, scenes of the web page and the live view in the terminal."""
