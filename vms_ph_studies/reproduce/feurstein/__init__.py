"""Source B, Feurstein: two hopping legs, experiment by experiment."""
