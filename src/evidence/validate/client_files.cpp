#include "evidence/validate/client_files.hpp"

#include <array>
#include <string>
#include <string_view>

namespace ridgeline::evidence::validate {
namespace {

struct FileNames {
  std::string_view client;
  std::string_view statistics;  ///< How the name of the statistics ends ...
  std::string_view requests;    ///< ... and what stands for it in that of the requests.
};
/// The client's own names first.
constexpr auto kFileNames = std::to_array<FileNames>(
    {{"inference-perf", "summary_lifecycle_metrics.json", "per_request_lifecycle_metrics.json"},
     {"inference-perf", ".json", "_per_request.json"},
     {"inference-perf", "", "_per_request.json"},
     {"aiperf", "_aiperf.json", ".jsonl"},
     {"aiperf", ".json", ".jsonl"},
     {"aiperf", "", ".jsonl"}});

}  // namespace

std::string requests_file(std::string_view client, const std::string& path) {
  for (const auto& names : kFileNames) {
    if (names.client == client && path.ends_with(names.statistics)) {
      return path.substr(0, path.size() - names.statistics.size()) + std::string(names.requests);
    }
  }
  return {};
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace ridgeline::evidence::validate
