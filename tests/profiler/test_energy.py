"""Mean power from an energy counter."""

from ridgeline_profiler.energy import Reading, settled_span


def test_only_readings_at_which_the_counter_moved_count():
    readings = [Reading(0.1 * at, joules, at) for at, joules in enumerate((0, 0, 40, 40, 40, 90, 90, 140, 140, 140))]
    first, last = settled_span(readings)
    # The first 30 % of 0.9 s are for the clocks; the counter moves at 0.5 and 0.7 s.
    assert (first.batches, last.batches) == (5, 7)


def test_a_counter_that_hardly_moves_says_nothing():
    assert settled_span([]) is None
    assert settled_span([Reading(0.1 * at, 7.0, at) for at in range(9)]) is None
    assert settled_span([Reading(0.1 * at, float(at > 6), at) for at in range(9)]) is None
