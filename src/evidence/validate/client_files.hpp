#pragma once

#include <string>
#include <string_view>

namespace ridgeline::evidence::validate {

/// The file with one record a request that a client ("inference-perf", "aiperf") writes beside its
/// statistics: per_request_lifecycle_metrics.json beside summary_lifecycle_metrics.json,
/// profile_export.jsonl beside profile_export_aiperf.json. Of statistics under another name,
/// X.json, it is X_per_request.json and X.jsonl. Empty for other clients.
[[nodiscard]] std::string requests_file(std::string_view client, const std::string& path);
/// The name of a file without its folder.
[[nodiscard]] std::string file_name(const std::string& path);

}  // namespace ridgeline::evidence::validate
