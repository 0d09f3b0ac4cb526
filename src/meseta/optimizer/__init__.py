"""A run: trials as they come, the next design, and the robust optimum they speak for."""
