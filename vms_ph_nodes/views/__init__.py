"""Views of the robot: markers, scenes of the web page, the live view of the terminal."""
