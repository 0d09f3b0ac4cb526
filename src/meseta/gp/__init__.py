"""Gaussian processes: the surrogate of f, the joint posterior of f and g, sample paths, maxima."""
