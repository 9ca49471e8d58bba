#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/request_log.hpp"

namespace ridgeline::evidence::validate {

/// One line of an experiments.jsonl: a measured run, stage or sweep point with its server, workload
/// and numbers. Never fails: what cannot be read or predicted is named in Evidence::problem.
/// `logs` reads the files that the record names.
[[nodiscard]] Evidence read_experiment(const document::Node& record, RequestLogs& logs);

/// The engine's version as a scenario names it: the number at the start of the text ("0.11.0 (V1,
/// ..." is vllm@0.11.0), else the release that was the latest at the date ("2025-10-29"), else
/// empty. Source of the dates: the releases of vllm-project/vllm on GitHub.
[[nodiscard]] std::string version_option(std::string_view engine,
                                         std::string_view text,
                                         std::string_view date);

/// {"e2e_ms": {"mean": ..., "p90": ...}, "ttft_ms": ..., "output_tokens_per_s": ..., "power": ...},
/// measured on so many GPUs.
[[nodiscard]] Figures read_figures(const document::Node& node, std::int64_t gpus);

/// The distribution of a record's token counts; nothing when the record does not say. `assumed`
/// gets what was taken for granted.
[[nodiscard]] std::optional<TokenCounts> read_token_counts(const document::Node& node,
                                                           std::string_view what,
                                                           std::vector<std::string>& assumed);

}  // namespace ridgeline::evidence::validate
