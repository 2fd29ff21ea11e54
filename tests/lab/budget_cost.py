# SPDX-License-Identifier: Apache-2.0
"""What a budget costs a run, from the time of each of its steps.

Whole stretches of a launch-bound training, with and without libprof, differ by more than a budget of 1 %. So comparing
such stretches cannot show whether the budget is kept. But with a budget, libprof records only in its windows. Between
windows nothing subscribes to CUPTI, and libprof is called only at ranges and at prof_step (residue.py measures what
that leaves in a step's time). Its threads wake up now and then, on other cores (budget.py counts how often). Therefore
only the windows are examined. A *region* is a window's steps, with some before it and more after it, where CUPTI is
finalized. The plain steps beside a region give the time that its steps should take; the excess is the window's cost.
All other steps, nearly all of the run, add no noise.

The *local median* of a step is the median of the nearest plain steps, 40 on either side. Steps have a long tail, so
their mean is above their median. A region's base is therefore its local medians times a ratio: over all plain steps,
the time that they took to their own local medians. So a region without any cost has an excess of 0 on average. Stalls,
which are plain steps of more than three local medians, are left out of that ratio: they are so rare that they hit
hardly any region, and would make windows seem to save time. A stall in a region counts for its window.
"""

import bisect
import statistics

import overhead

BEFORE, AFTER = 2, 10  # steps of a region before a window and after it, the one in which it ends among them
NEAREST = 40  # plain steps on either side
BLOCK = 20  # plain steps that are resampled together
STALL = 3  # local medians
LEAST_WINDOWS = 8  # for a verdict


def regions(windows, steps):
    """[first, end) as places in a list of the times of steps 1, 2, …; those that touch are one."""
    found = []
    for first, last in sorted(windows):
        begin, end = max(0, first - 1 - BEFORE), min(steps, last + AFTER)
        if found and begin <= found[-1][1]:
            found[-1][1] = max(end, found[-1][1])
        elif begin < end:
            found.append([begin, end])
    return found


def local_median(times, plain, place):
    """Of the nearest plain steps around plain[place], but for that one. `plain`: the places of the plain steps."""
    beside = plain[max(0, place - NEAREST) : place] + plain[place + 1 : place + 1 + NEAREST]
    return statistics.median(times[i] for i in beside)


class Stretch:
    """The steps of one recording: of each region what was spent and the base; of the plain steps both by blocks."""

    def __init__(self, times, windows):
        found = regions(windows, len(times))
        inside = {i for begin, end in found for i in range(begin, end)}
        plain = [i for i in range(len(times)) if i not in inside]
        if len(plain) <= NEAREST:
            raise ValueError(f"{len(plain)} of {len(times)} steps are plain: too few to say what a step takes without a window")
        self.total = sum(times)
        self.regions = []
        for begin, end in found:
            place = bisect.bisect(plain, begin)
            beside = plain[max(0, place - NEAREST) : place + NEAREST]
            median = statistics.median(times[i] for i in beside)
            self.regions.append((sum(times[begin:end]), (end - begin) * median))
        pairs = [(times[i], local_median(times, plain, place)) for place, i in enumerate(plain)]
        pairs = [(took, median) for took, median in pairs if took <= STALL * median]
        self.blocks = [tuple(map(sum, zip(*pairs[at : at + BLOCK]))) for at in range(0, len(pairs), BLOCK)]


def cost(stretches, once=0.0, resamplings=4000):
    """The share of the time that the windows took, with a bootstrap interval over the regions and, for the base, over
    the plain steps. `once`: what starting and stopping took beside that, in the unit of the steps' times."""
    total = sum(stretch.total for stretch in stretches)
    found = [region for stretch in stretches for region in stretch.regions]
    blocks = [block for stretch in stretches for block in stretch.blocks]

    def share(source=None):
        chosen, base = found, blocks
        if source is not None and found:
            chosen, base = source.choices(found, k=len(found)), source.choices(blocks, k=len(blocks))
        above_median = sum(took for took, _ in base) / sum(median for _, median in base)
        excess = once + sum(took - above_median * median for took, median in chosen)
        return excess / (total - excess)

    return {"mean": share(), "interval95": overhead.interval(share, rounds=resamplings), "windows": len(found)}


def verdict(figure, budget):
    return overhead.verdict(figure, budget) if figure["windows"] >= LEAST_WINDOWS else "inconclusive"
