"""Stand-ins that activation serves as rclpy, tf2_ros and ament_index_python."""
