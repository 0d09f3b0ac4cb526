"""The kernel of f and its smoothings: k_gf = Cov[g, f] and k_g = Cov[g, g]."""

from meseta.kernels.smoothed import SmoothedKernel
from meseta.kernels.smoothing import smooth
from meseta.kernels.stationary import Shape, StationaryKernel

__all__ = ["Shape", "SmoothedKernel", "StationaryKernel", "smooth"]
