try:
    from meseta.integrations.optuna import DESIGNS
    from meseta.integrations.optuna import EXECUTED
    from meseta.integrations.optuna import EXECUTION
    from meseta.integrations.optuna import OUTCOMES
    from meseta.integrations.optuna import PRECISION
    from meseta.integrations.optuna import recommend
    from meseta.integrations.optuna import RobustSampler
except ModuleNotFoundError as error:
    if error.name != "meseta":
        raise
    raise ImportError(
        "samplers/meseta needs the package meseta, which is not installed: pip install meseta"
    ) from error


__all__ = [
    "DESIGNS",
    "EXECUTED",
    "EXECUTION",
    "OUTCOMES",
    "PRECISION",
    "RobustSampler",
    "recommend",
]
