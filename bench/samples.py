"""Statistics that a noisy machine cannot easily fool.

Noise of a shared machine is one-sided (something always takes longer, nothing ever goes faster than it
can) and comes in bursts. What is compared is therefore measured in turn, in rounds that hold each
candidate once, and a whole round is drawn or left out when the interval is estimated.
"""
import random
import statistics

RESAMPLES = 600


def median(values):
    return statistics.median(values)


def fast_quarter(values):
    """Mean of the fastest quarter: as free of bursts as the minimum, but not one lucky sample."""
    ordered = sorted(values)
    kept = ordered[:max(1, len(ordered) // 4)]
    return sum(kept) / len(kept)


def quartiles(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]


def interval(columns, statistic):
    """95% bootstrap interval of statistic(*columns); the columns are parallel, one entry a round."""
    rounds = len(columns[0])
    chooser = random.Random(rounds)
    found = []
    for _ in range(RESAMPLES):
        drawn = chooser.choices(range(rounds), k=rounds)
        found.append(statistic(*[[column[i] for i in drawn] for column in columns]))
    found.sort()
    return found[int(0.025 * len(found))], found[int(0.975 * len(found))]


def ratio(ours, peers, center=median):
    """(value, low, high) of center(ours) / center(peers)."""
    def statistic(a, b):
        return center(a) / center(b)
    return (statistic(ours, peers), *interval([ours, peers], statistic))


def absolute(values, center=median):
    return (center(values), *interval([values], center))
