"""Percentiles and summaries, by hand."""

import pytest

from ridgeline_profiler.statistics import percentile, summarize


def test_percentile_is_linear_between_neighbours():
    # Places 0..3; a tenth is place 0.3: 10 + 0.3 * 10.
    assert percentile([10.0, 20.0, 30.0, 40.0], 0.1) == pytest.approx(13.0)
    # Place 1.5: half way from 20 to 30.
    assert percentile([10.0, 20.0, 30.0, 40.0], 0.5) == pytest.approx(25.0)
    assert percentile([10.0, 20.0, 30.0, 40.0], 1.0) == 40.0
    assert percentile([7.0], 0.9) == 7.0


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_percentile_refuses_a_share_outside(share):
    with pytest.raises(ValueError, match="not between"):
        percentile([1.0], share)


def test_summary_orders_the_samples():
    # Sorted 1..5: the median is 3, places 0.4 and 3.6 are 1.4 and 4.6; spread 3.2 / 3.
    summary = summarize([5.0, 1.0, 4.0, 2.0, 3.0])
    assert (summary.median_us, summary.samples) == (3.0, 5)
    assert (summary.p10_us, summary.p90_us) == (pytest.approx(1.4), pytest.approx(4.6))
    assert summary.spread == pytest.approx(3.2 / 3.0)


def test_one_outlier_leaves_the_median():
    assert summarize([10.0] * 9 + [1e6]).median_us == 10.0


@pytest.mark.parametrize("samples", [[], [0.0], [-1.0, 2.0], [float("nan")], [1.0, float("inf")]])
def test_summary_refuses_what_is_no_time(samples):
    with pytest.raises(ValueError):
        summarize(samples)
