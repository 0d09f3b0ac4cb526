"""What several entrants share that know nothing of the noise."""


def is_usual(task, params):
    """Whether an experiment had the environment as it is on average.

    The first ones have any, and say little of a design to those who take the environment as given.
    """
    return all(params[name] == value for name, value in task.typical().items())


def best_told(task, told):
    """The best experiment so far; among those within the limits, if there are any.

    In the usual environment, once there is such a one: the best of others may be a lucky state.
    """
    told = [each for each in told if is_usual(task, each[0])] or told
    within = [each for each in told if violation(task, each[1]) <= 0]
    if within:
        params = max(within, key=lambda each: merit(task, each[1]))[0]
    else:
        params = min(told, key=lambda each: violation(task, each[1]))[0]
    return {each["name"]: params[each["name"]] for each in task.parameters}


def merit(task, values):
    """What is to be maximised without the noise: the value, or how close it is to its goal."""
    value, name = values[task.objective], task.measure["name"]
    if name == "on-target":
        return -abs(value - task.measure["target"])
    if name == "yield":  # the distance to the nearer limit
        low, high = (task.measure.get(end) for end in ("low", "high"))
        room = [] if low is None else [value - low]
        return min(room if high is None else [*room, high - value])
    return task.sign * value


def violation(task, values):
    """By how much the limits are missed in all; 0 or less: they are kept."""
    return max([0.0, *violations(task, values)]) if task.limits else 0.0


def violations(task, values):
    """Positive where a limit is missed, one for each end of each limit."""
    found = []
    for name, limit in task.limits.items():
        found += [] if limit["low"] is None else [limit["low"] - values[name]]
        found += [] if limit["high"] is None else [values[name] - limit["high"]]
    return found
