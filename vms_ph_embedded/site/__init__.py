"""The embedded implementations of rclpy, tf2_ros and ament_index_python."""
