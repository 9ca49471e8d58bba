#include "cli/commands/client_files.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/output_file.hpp"
#include "core/result.hpp"
#include "evidence/validate/client_files.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::cli {

FlagSpec client_results_flag() {
  return {.name = "client-results",
          .repeatable = true,
          .value = "CLIENT=FILE",
          .help =
              "As that client would write it: vllm-bench, guidellm, inference-perf, "
              "aiperf (the last two: and one record per request beside it)"};
}

std::vector<ClientFile> open_client_files(const Arguments& arguments, core::Errors& errors) {
  const auto open = [&](const std::string& name) -> std::optional<OutputFile> {
    auto file = OutputFile::open("--client-results", name);
    keep_errors(file, errors);
    return file ? std::optional<OutputFile>(std::move(*file)) : std::nullopt;
  };
  std::vector<ClientFile> files;
  for (const auto& word : arguments.values("client-results")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals + 1 == word.size()) {
      errors.push_back(
          usage_error("--client-results", fmt::format("found '{}', expected CLIENT=FILE", word)));
      continue;
    }
    const auto format = verbs::find_client_format(word.substr(0, equals));
    keep_errors(format, errors);
    if (!format) {
      continue;
    }
    const std::string path = word.substr(equals + 1);
    auto file = open(path);
    auto requests = (*format)->render_requests == nullptr
                        ? std::nullopt
                        : open(evidence::validate::requests_file((*format)->name, path));
    if (file) {
      files.push_back(
          {.file = std::move(*file), .requests = std::move(requests), .format = *format});
    }
  }
  return files;
}

void write_client_files(std::vector<ClientFile>& files,
                        const verbs::RunResult& seen,
                        const verbs::ClientResults& results,
                        core::Errors& errors) {
  for (auto& [file, requests, format] : files) {
    file.stream() << format->render(seen, results);
    keep_errors(file.commit(), errors);
    if (requests) {
      requests->stream() << format->render_requests(results);
      keep_errors(requests->commit(), errors);
    }
  }
}

}  // namespace ridgeline::cli
