"""Published results, run again, and benchmarks; imports no ROS."""
