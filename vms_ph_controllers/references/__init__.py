"""What a law follows: poses, joint positions, and the governor of its reference."""
