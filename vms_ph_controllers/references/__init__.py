"""References that laws follow: poses, joint positions, and the reference governor."""
