#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {

inline constexpr std::string_view kCronStartPath = "cluster.autoscaling.cron_start";

/// How many instances there are to be from an instant on.
using ReplicasAt = std::pair<core::SimTime, std::int64_t>;

/// Reads a list of [time, number] or "time=number", in order of time. Problems name `path`.
[[nodiscard]] std::vector<ReplicasAt> read_replicas_at(std::string_view path,
                                                       const document::Node& list,
                                                       core::Errors& errors);

/// Reads a crontab: a list of "minute hour day month weekday=number", of a run that begins at the
/// calendar's `cron_start`, else on a Monday. Problems name `path`.
[[nodiscard]] std::vector<ReplicasAt> read_cron(std::string_view path,
                                                const document::Node& list,
                                                const std::optional<std::string>& cron_start,
                                                core::Errors& errors);

}  // namespace ridgeline::scenario
