"""Acquisition functions: what to evaluate next."""

from meseta.acquisition.nes import NoisyInputEntropySearch

__all__ = ["NoisyInputEntropySearch"]
