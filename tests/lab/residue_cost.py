# SPDX-License-Identifier: Apache-2.0
"""What a role takes beside another, from the windows of processes that took turns (residue.py)."""

import statistics

import overhead

CHANGES = {"joined": "join", "stopped": "start-stop", "torch-stopped": "torch"}
GOALS = {"idle": 0.005, "joined": 0.005, "stopped": 0.01, "whole-graphs": 0.01}
LAUNCHES = ("launches", "launches-two-threads")  # of the C++ program: a step is a burst
LAUNCHES_A_STEP = 400
LAUNCH_OF_A_STEP_NS = 12_000  # the launch-bound step: 1900 launches in 22 to 26 ms
FIGURES = ("typical", "fastest")  # of a window's steps
LEAST_ROUNDS = 40


def shares(processes, base):
    """By round: a role's mean beside the base's."""
    factor = len(base) / len(processes)
    return [factor * sum(own) / sum(others) for own, others in zip(zip(*processes), zip(*base))]


def cost(role, base, resamplings=2000):
    """What a role takes beside the base. Both are lists of halves, each with the processes' windows: of two halves
    it is the second beside the first."""

    def figure(source=None):
        def resampled(values):
            return values if source is None else source.choices(values, k=len(values))

        # The same processes in both halves: what a process is by luck cancels out.
        members, base_members = (resampled(range(len(halves[0]))) for halves in (role, base))
        found = [
            statistics.median(resampled(shares([half[m] for m in members], [base_half[m] for m in base_members])))
            for half, base_half in zip(role, base)
        ]
        return (found[1] / found[0] if len(found) == 2 else found[0]) - 1

    return {
        "median": figure(),
        "interval95": overhead.interval(figure, rounds=resamplings),
        "processes": len(role[0]),
        "rounds": min(len(half[0]) for half in base),
    }


def joined_halves(first, second):
    """For a role that does not change half way: one half, with the rounds of both."""
    return [[one + two for one, two in zip(first, second)]]


def of_kind(half, kind):
    """The windows of a half with one of their figures."""
    at = FIGURES.index(kind)
    return {role: [[window[at] for window in process] for process in processes] for role, processes in half.items()}


def figures(before, after):
    """By role, and of `control` in both ways: 'control' beside plain, and 'control, after by before'."""
    result = {}
    for role in before:
        if role == "plain":
            continue
        if role not in CHANGES:
            result[role] = cost(joined_halves(before[role], after[role]), joined_halves(before["plain"], after["plain"]))
        if role in CHANGES or role == "control":
            name = role if role in CHANGES else "control, after by before"
            result[name] = cost([before[role], after[role]], [before["plain"], after["plain"]])
    return result


def verdict(role, costs, goal):
    figure = costs[role]
    control = costs.get("control, after by before" if role in CHANGES else "control")
    if control is not None:
        low, high = control["interval95"]
        clearly_missed = figure["interval95"][0] > goal + max(-low, high)
        if (low < -goal or high > goal) and not clearly_missed:
            more = ((high - low) / 2 / goal) ** 2
            wanted = f", it would take {more:.0f} times the windows" if more > 1 else ""
            return f"inconclusive (the control's interval is not within {100 * goal:.1f} %{wanted})"
    return overhead.verdict(figure, goal) if figure["rounds"] >= LEAST_ROUNDS else "inconclusive"


def scaled(figure, factor):
    return figure | {"median": factor * figure["median"], "interval95": [factor * bound for bound in figure["interval95"]]}


def of_a_step(costs, launch_ns):
    """The same nanoseconds a launch as a share of a launch-bound training step's."""
    return {role: scaled(figure, launch_ns / LAUNCH_OF_A_STEP_NS) for role, figure in costs.items()}


def quieter(result):
    """The kind of figure whose control is less noisy."""

    def noise(kind):
        intervals = (figure["interval95"] for role, figure in result[kind]["cost"].items() if role.startswith("control"))
        return sum(high - low for low, high in intervals)

    return min(FIGURES, key=noise)


def report(workload, result, steps):
    judged = result["judged_by"]
    found = result[judged]
    costs = found["cost"]
    rounds = max(figure["rounds"] for figure in costs.values())
    unit = f"{found['launch_ns']:.0f} ns a launch" if workload in LAUNCHES else f"{found['plain_ms']:.3f} ms a step"
    yield f"{workload}: {unit}, {rounds} rounds of {steps} steps, by the {judged} of a window"
    for role, figure in costs.items():
        line = f"  {role}: {overhead.percent(figure)}"
        if role in GOALS:
            line += f"; within {100 * GOALS[role]:.1f} %: {verdict(role, costs, GOALS[role])}"
        yield line
        if workload in LAUNCHES:
            ns = scaled(figure, found["launch_ns"])
            low, high = ns["interval95"]
            line = f"    {ns['median']:+.1f} ns [{low:+.1f}, {high:+.1f}], of a step {overhead.percent(found['of_a_step'][role])}"
            yield line + (f": {verdict(role, found['of_a_step'], GOALS[role])}" if role in GOALS else "")
    (other,) = set(FIGURES) - {judged}
    others = (f"{role} {overhead.percent(figure)}" for role, figure in result[other]["cost"].items())
    yield f"  by the {other}: {', '.join(others)}"


def evaluated(workload, before, after):
    """All figures of a workload."""
    result = {"windows": [before, after]}
    for kind in FIGURES:
        first, second = (of_kind(half, kind) for half in (before, after))
        base_ms = statistics.median(ms for half in (first, second) for process in half["plain"] for ms in process)
        result[kind] = {"plain_ms": base_ms, "cost": figures(first, second)}
        if workload in LAUNCHES:
            launch_ns = base_ms * 1e6 / LAUNCHES_A_STEP
            result[kind] |= {"launch_ns": launch_ns, "of_a_step": of_a_step(result[kind]["cost"], launch_ns)}
    result["judged_by"] = quieter(result)
    return result
