#pragma once

#include <cstdint>

#include "document/document.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// Version of the result of `run` and `replay`: data/schemas/result.schema.json.
inline constexpr std::int64_t kResultSchemaVersion = 2;

/// Whether a result's tree holds its series, or null in its place: of a run over time it is most.
/// Or nothing of it, and of what comes with it.
enum class SeriesIn : std::uint8_t { kTree, kNull, kNothing };

/// A result as machines get it: schema_version, run_info, config, summary, warnings, digest, and
/// `partial` where the run was interrupted. Keys keep this order. Where there is no number stands
/// null, and `warnings` says why.
[[nodiscard]] document::Node result_tree(const RunResult& result,
                                         SeriesIn series = SeriesIn::kTree);
/// The part under `deployment`.
[[nodiscard]] document::Node deployment_tree(const Deployment& deployment);

}  // namespace ridgeline::verbs
