"""Comparisons of this project with established methods; no source reports them."""
