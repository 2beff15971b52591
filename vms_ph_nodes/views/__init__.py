"""What people look at: markers, the page's scenes, the view in the terminal."""
