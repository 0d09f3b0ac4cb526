"""Acquisition functions: what to evaluate next."""

from meseta.acquisition.knowledge_gradient import RobustKnowledgeGradient
from meseta.acquisition.nes import NoisyInputEntropySearch
from meseta.acquisition.prepared import RobustAcquisition

__all__ = ["NoisyInputEntropySearch", "RobustAcquisition", "RobustKnowledgeGradient"]
