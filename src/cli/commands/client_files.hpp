#pragma once

#include <optional>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/output_file.hpp"
#include "core/result.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::cli {

/// --client-results CLIENT=FILE, any number of them.
[[nodiscard]] FlagSpec client_results_flag();

/// A file in the schema of a benchmark client, and the one beside it where it writes two.
struct ClientFile {
  OutputFile file;
  std::optional<OutputFile> requests;
  const verbs::ClientFormat* format;
};
/// Opens what the flag names.
[[nodiscard]] std::vector<ClientFile> open_client_files(const Arguments& arguments,
                                                        core::Errors& errors);
/// Completes the files.
void write_client_files(std::vector<ClientFile>& files,
                        const verbs::RunResult& seen,
                        const verbs::ClientResults& results,
                        core::Errors& errors);

}  // namespace ridgeline::cli
