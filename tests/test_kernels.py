"""Smoothed kernels against mpmath quadrature, from 1e-6 to 1e3 lengthscales."""
