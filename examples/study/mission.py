"""The flight that gravity.toml optimizes."""

from meseta.problems import get

MISSION = get("gravity")


def cost(params):
    """Of one flight as it was planned."""
    return float(MISSION.f([[params["angle"], params["speed"]]])[0])
