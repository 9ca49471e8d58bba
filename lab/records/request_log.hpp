#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {

/// Logs of requests that the records of one file name: CSV (or CSV.gz) with a header and the
/// columns arrival_s, input_tokens and output_tokens; exp, phase and status where there are several
/// runs, phases or failures. Regular files in the folder of the records and below, kMostLogs of
/// them, each read once.
class RequestLogs {
 public:
  explicit RequestLogs(std::string folder) : folder_(std::move(folder)) {}

  /// The requests of one phase of one run, in order of arrival; those that failed are left out.
  /// `run` empty: of any. Rows that cannot be read are left out too, and the first of them is named
  /// in `notes`.
  [[nodiscard]] core::Result<std::vector<StageLoad::Row>> read(const std::string& name,
                                                               const std::string& run,
                                                               const std::string& phase,
                                                               std::vector<std::string>& notes);

 private:
  std::string folder_;
  std::map<std::string, std::string> texts_;  ///< By path, unpacked.
};

}  // namespace ridgeline::records
