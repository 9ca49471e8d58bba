#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

/// What a record of a measured run says of its server: the network, the GPU, the engine, how the
/// GPUs are shared out.
namespace ridgeline::records {

/// Fills these members of `evidence`; a key that is absent leaves the member as it is.
void read_identity(const document::Node& record, Evidence& evidence);

/// The engine's version as a scenario names it: the number at the start of the text ("0.11.0 (V1,
/// ..." is vllm@0.11.0), else the release that was the latest at the date ("2025-10-29"), else
/// empty. Source of the dates: the releases of vllm-project/vllm on GitHub.
[[nodiscard]] std::string version_option(std::string_view engine,
                                         std::string_view text,
                                         std::string_view date);

/// The count behind a word of a record's text: 16 of "max_concurrency=16". Nothing where the word
/// is absent or no count above 0 follows.
[[nodiscard]] std::optional<std::int64_t> number_after(std::string_view text,
                                                       std::string_view word);

}  // namespace ridgeline::records
