"""How long a point is measured. A sample is one replay of all calls of a case; warm-up samples are thrown away."""

import math

# Clocks rise from idle and caches of the driver fill in this time.
WARM_UP_SECONDS = 0.05
WARM_UP_REPLAYS = 3
MEASURE_SECONDS = 0.15
MIN_REPLAYS = 10
MAX_REPLAYS = 200
# A replay holds at least this many calls, unless they take long: what surrounds a replay is then a small part of it.
CALLS_IN_REPLAY = 20
LONG_REPLAY_US = 2000.0
# Batches of replays between two readings of the energy counter, which moves every few dozen milliseconds.
SUSTAINED_BATCH_SECONDS = 0.02
# Building inputs, capturing, tuning and checking, as an estimate until the run itself has shown better.
SETUP_SECONDS = 0.3
# Share of a peak that an estimate assumes.
ASSUMED_EFFICIENCY = 0.6
ASSUMED_LAUNCH_US = 5.0


def rounds(expected_us: float, calls: int) -> int:
    """How often a replay goes over all calls."""
    wanted = math.ceil(CALLS_IN_REPLAY / calls)
    affordable = int(LONG_REPLAY_US / max(expected_us * calls, 1e-3))
    return max(1, min(wanted, affordable))


def replays(seconds_per_replay: float) -> int:
    wanted = math.ceil(MEASURE_SECONDS / max(seconds_per_replay, 1e-9))
    return max(MIN_REPLAYS, min(MAX_REPLAYS, wanted))


def warm_up_replays(seconds_per_replay: float) -> int:
    wanted = math.ceil(WARM_UP_SECONDS / max(seconds_per_replay, 1e-9))
    return max(WARM_UP_REPLAYS, min(MAX_REPLAYS, wanted))


def estimated_seconds(call_us: float, sustain_seconds: float = 0.0) -> float:
    """Wall time of a point whose call takes `call_us`."""
    replay = call_us * 1e-6 * rounds(call_us, 1)
    return SETUP_SECONDS + sustain_seconds + replay * (replays(replay) + warm_up_replays(replay) + 1)
