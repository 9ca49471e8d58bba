#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/coverage.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"

namespace ridgeline::evidence::validate {

/// Measurements and predictions side by side.
struct Validation {
  std::vector<ScoredRecord> records = {};  ///< Every record of every file, in order.
  std::vector<ScoreRow> scores = {};
  std::vector<PeerRow> peers = {};
  core::Warnings warnings = {};  ///< What their models say of the tables that they read, once each.
  std::optional<Coverage> coverage = {};  ///< Where it was asked for.
  std::string by = {};                    ///< The axis that was asked for: "batch, phase".
  std::optional<Figure> metric = {};      ///< The one figure that was asked for.
  std::int64_t derived_e2e = 0;           ///< Records whose E2E derive_e2e() made.

  [[nodiscard]] std::int64_t count(Standing standing) const;
};

/// Reads the measured runs of one file, whatever its format. A record that is not understood is
/// returned with its problem; only a file that cannot be read at all, or of no known format, fails.
[[nodiscard]] core::Result<std::vector<Evidence>> read_evidence(const std::string& path);

/// Gives records without a mean E2E what their mean TTFT and TPOT make of it, TTFT + (n - 1) TPOT
/// with n output tokens, and says so in their `assumed`. Returns how many.
std::int64_t derive_e2e(std::vector<Evidence>& evidence);
/// Cuts every stage to so many requests, at the same rate; records say so.
void limit_requests(std::int64_t most, std::vector<Evidence>& evidence);

/// Predicts and scores.
[[nodiscard]] Validation validate(std::vector<Evidence> evidence, const PredictOptions& options);

}  // namespace ridgeline::evidence::validate
