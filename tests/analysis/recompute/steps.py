# SPDX-License-Identifier: Apache-2.0
"""The report `steps`: GPU time a step, estimated from the steps that were captured (docs/guide/budget.md, "The
estimate")."""
import functools
import math
import statistics

from rows import Rows, communicates


def captured_steps(program):
    """(start, end, window) of those that are whole."""
    marks = [
        event
        for event in program.marks
        if event["name"] == "step" and event["domain"] == 1 and event.get("payload", (None,))[0] == "u64"
    ]
    steps = []
    for number, mark in enumerate(marks):
        window = program.windows[mark["window"]]
        following = marks[number + 1] if number + 1 < len(marks) else None
        if following is not None and following["window"] == mark["window"]:
            if following["payload"][1] == mark["payload"][1] + 1:
                steps.append((mark["t"], following["t"], mark["window"]))
        elif window["ends_with_step"] and window["last_step"] == mark["payload"][1]:
            steps.append((mark["t"], window["end"] or program.end, mark["window"]))
    return steps


def warm_up(lengths):
    """How many of ten steps or more are warm-up: the first ones that are much longer than the median."""
    middle = statistics.median(lengths)
    deviation = statistics.median(int(abs(length - middle) + 0.5) for length in lengths)
    longest = max(1.25 * middle, middle + 5 * 1.4826 * deviation)
    slow = 0
    while len(lengths) >= 10 and slow < len(lengths) // 2 and lengths[slow] > longest:
        slow += 1
    return slow


def that_count(program):
    """The captured steps without the program's first one, unless it is alone, and without warm-up; their lengths, None if
    the page leaves them open; and whether the first one is alone. The steps are None if that leaves open which they are."""
    numbers = {event["t"]: event["payload"][1] for event in program.marks
               if event["name"] == "step" and event["domain"] == 1 and event.get("payload", (None,))[0] == "u64"}
    found = captured_steps(program)
    is_first = [numbers[start] for start, _, _ in found] == [0]
    if not is_first:
        found = [each for each in found if numbers[each[0]] != 0]
    times = lengths(program, found) if found else []
    if times is None:
        return (None if len(found) >= 10 else found), None, is_first
    left_out = warm_up(times) if times else 0
    return found[left_out:], times[left_out:], is_first


def lengths(program, found):
    """How long steps are: from when the host has begun each and the GPU is done, in the streams in which steps compute,
    with what was launched before, to the same of its end (docs/guide/phases.md, "How long a step is")."""
    of_steps = [{} for _ in found]
    for op in program.ops:
        for i, (start, end, *_) in enumerate(found):
            if op.call is not None and start <= op.call.time < end:
                works = op.kind == "graph" or (op.kind == "kernel" and not communicates(op))
                sums = of_steps[i].setdefault((op.device, op.context, op.stream), [0, 0])
                sums[0] += op.duration if works else 0
                sums[1] += op.duration
    for which in (0, 1):
        won, total = {}, {}
        for of in of_steps:
            for stream, sums in of.items():
                total[stream] = total.get(stream, 0) + sums[which]
            best = max((sums[which] for sums in of.values()), default=0)
            if best:
                winner = [stream for stream, sums in of.items() if sums[which] == best]
                won.setdefault(tuple(winner), []).append(1)
        if won:
            break
    if any(len(winners) > 1 for winners in won):
        return None  # a draw, which the page leaves open
    won = {winners[0]: len(times) for winners, times in won.items()}
    most = max(((count, total[stream]) for stream, count in won.items()), default=None)
    if sum((count, total[stream]) == most for stream, count in won.items()) > 1:
        return None  # likewise
    counted = {s for s, n in won.items() if (n, total[s]) == most or (n > 1 and 4 * n >= len(found))}

    def done(time):
        before = [op.end for op in program.ops if op.call is not None and op.call.time < time
                  and (op.device, op.context, op.stream) in counted]  # fmt: skip
        return max([time, *before])

    return [done(end) - done(start) for start, end, *_ in found]


def steps_of_run(program, steps):
    if "steps" in program.given:
        return program.given["steps"]
    if not steps:
        return 0
    starts = {start for start, _, _ in steps}
    numbers = [event["payload"][1] for event in program.marks if event["t"] in starts]
    return max(max(numbers) + 1, program.windows[-1]["first_step"])


@functools.lru_cache(maxsize=None)
def student_t(degrees):
    """The 97.5 % quantile of Student's t: the density summed by Simpson's rule, and bisection."""
    factor = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)

    def share_within(t):
        # With t = sqrt(degrees) tan(angle) the integrand is a power of the cosine.
        angle, parts = math.atan(t / math.sqrt(degrees)), 2000
        width = angle / parts
        values = [math.cos(i * width) ** (degrees - 1) for i in range(parts + 1)]
        return 2 * factor * width / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))

    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share_within(middle) < 0.95 else (low, middle)
    return low


class Estimator:
    def __init__(self, steps, stands_for):
        """Per window: how many of its steps were captured, and for how many steps it stands."""
        self.steps, self.stands_for = steps, stands_for
        self.all = sum(stands_for)
        self.missing = [max(0, 1 - n / max(N, n)) for n, N in zip(steps, stands_for)]

    def __call__(self, totals):
        """Mean a step, and half the 95 % interval."""
        means = [total / n for total, n in zip(totals, self.steps)]
        weights = [N / self.all for N in self.stands_for]
        mean = sum(w * y for w, y in zip(weights, means))
        if not any(self.missing):
            return mean, 0
        m = len(means)
        if m < 2:
            return mean, None
        variance = 0
        for i, w in enumerate(weights):
            beside = [j for j in (i - 1, i + 1) if 0 <= j < m]
            spread = sum((means[i] - means[j]) ** 2 / 2 for j in beside) / len(beside)
            variance += w * w * self.missing[i] * spread
        return mean, student_t(2 * (m - 1) ** 2 / (3 * m - 4)) * math.sqrt(variance)


def steps(attribution):
    """Row → columns, what all GPU work comes to, and the totals. None: which steps count the page leaves open."""
    program = attribution.program
    # Where a plan has drawn the steps, each that it has captured stands for others.
    are_drawn = any(window["drawn_among"] for window in program.windows)
    found = captured_steps(program) if are_drawn else that_count(program)[0]
    if found is None:
        return None
    windows = sorted({window for _, _, window in found})
    place = {window: i for i, window in enumerate(windows)}
    of_run = steps_of_run(program, captured_steps(program))
    counts = [sum(window == w for _, _, w in found) for window in windows]
    drawn = [drawn_from(program, program.windows[window]) for window in windows]
    chosen = bool(windows) and all(program.windows[window]["drawn_among"] for window in windows)
    if not chosen:
        drawn = [n * max(of_run / len(found), 1) for n in counts]
    totals = {
        "captured_steps": len(found),
        "windows": len(windows),
        "steps": of_run,
        "stood_for": sum(drawn) if chosen else 0,
    }
    if not found:
        return {}, None, totals

    def window_at(time):
        return next((place[window] for start, end, window in found if start <= time < end), None)

    estimate = Estimator(counts, drawn)
    rows, table = Rows(attribution), {}

    def by_window(pairs):
        """None: nothing of it is in a captured step."""
        sums, seen = [0] * len(windows), False
        for time, value in pairs:
            window = window_at(time)
            if window is not None:
                sums[window] += value
                seen = True
        return sums, seen

    def launched(ops):
        return [(op.call.time, op.duration) for op in ops if op.call is not None]

    for row in rows.all():
        gpu, has_gpu = by_window(launched(rows.work[row].ops))
        # A captured range has an instance in each launch of its graph.
        begun = [(i[1].time if isinstance(i, tuple) else i.start, 1) for i in rows.instances.get(row, {})]
        instances, has_instances = by_window(begun)
        if has_gpu or has_instances:
            table[row] = columns(estimate(gpu), estimate(instances))
    every = columns(estimate(by_window(launched(program.ops))[0]), (None, None))
    return table, every, totals


def drawn_from(program, window):
    """Without those that the run did not come to."""
    if "steps" not in program.given or program.given["steps"] <= window["drawn_first"]:
        return window["drawn_among"]
    return min(window["drawn_among"], program.given["steps"] - window["drawn_first"])


def columns(gpu, instances):
    return {
        "gpu_ns": gpu[0],
        "half_width_ns": gpu[1],
        "instances": instances[0],
        "instances_half_width": instances[1],
    }
