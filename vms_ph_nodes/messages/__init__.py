"""Conversion between ROS messages and arrays, energies and text."""
