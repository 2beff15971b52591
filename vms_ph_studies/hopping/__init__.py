"""Studies of this project on the hopping legs of source B; the source does not report them."""
