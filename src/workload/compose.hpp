#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/item_stream.hpp"

/// Streams made of one stream. None of them reads more ahead than a group.
namespace ridgeline::workload {

/// time / speed_up, rounded once; the same time at 1. Nothing where it leaves the range of
/// simulated time.
[[nodiscard]] std::optional<core::Duration> scaled_time(core::Duration time, double speed_up);

/// Every time divided by `speed_up` > 0: arrivals, delays, think times.
[[nodiscard]] std::unique_ptr<ItemStream> sped_up(std::unique_ptr<ItemStream> stream,
                                                  double speed_up);

/// The first `count` items; a group that is cut keeps its first ones.
[[nodiscard]] std::unique_ptr<ItemStream> truncated(std::unique_ptr<ItemStream> stream,
                                                    std::int64_t count);

/// What one of `ranks` serving copies gets, the first: sessions are dealt out whole and in turn,
/// and so are groups without a session. Of a stage's max_concurrency it gets its part, rounded up.
[[nodiscard]] std::unique_ptr<ItemStream> dealt_out(std::unique_ptr<ItemStream> stream,
                                                    std::int64_t ranks);

/// Every group `by` later.
[[nodiscard]] std::unique_ptr<ItemStream> shifted(std::unique_ptr<ItemStream> stream,
                                                  core::Duration by);

/// The stream `times` over, each time `period` later. Prompts repeat too: what was shared within
/// the stream is shared with its repetitions. Streams with stages that wait are not repeated
/// (fails).
[[nodiscard]] core::Result<std::unique_ptr<ItemStream>> repeated(const StreamFactory& make,
                                                                 std::int64_t times,
                                                                 core::Duration period);

/// `count` groups drawn with replacement, which start at the arrivals of a Poisson process of
/// `rate` groups per second. Contents stay: groups drawn twice share their prompts.
[[nodiscard]] std::unique_ptr<ItemStream> resampled(ItemList list,
                                                    std::int64_t count,
                                                    double rate,
                                                    std::uint64_t seed);

/// Keeps each group with a probability that goes linearly from `from` to `to` within `over`, and
/// stays there: a ramp of the rate. 0 <= from, to <= 1.
[[nodiscard]] std::unique_ptr<ItemStream> ramped(std::unique_ptr<ItemStream> stream,
                                                 double from,
                                                 double to,
                                                 core::Duration over,
                                                 std::uint64_t seed);

/// A stream that sends nothing at or after `end`, however long answers take: neither groups that a
/// limit of concurrency holds back nor later turns of any group.
[[nodiscard]] std::unique_ptr<ItemStream> sent_before(std::unique_ptr<ItemStream> stream,
                                                      core::Duration end);

/// At most so many groups in flight, in the order in which they come: a limit of concurrency on the
/// client's side. Requires a stream of one stage.
[[nodiscard]] std::unique_ptr<ItemStream> limited(std::unique_ptr<ItemStream> stream,
                                                  std::int64_t max_concurrency);

/// Whether the groups of a stream start at times of their own, and nothing else holds them back.
[[nodiscard]] bool is_plain(const ItemStream& stream);
/// That a stream which is not cannot be `what` ("repeated").
[[nodiscard]] core::Error not_plain(std::string_view what);

}  // namespace ridgeline::workload
