#include "lab/records/record_identity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

struct Release {
  std::string_view date;
  std::string_view version;
};

constexpr auto kReleases = std::to_array<Release>({{"2025-03-18", "0.8"},
                                                   {"2025-05-27", "0.9"},
                                                   {"2025-07-24", "0.10"},
                                                   {"2025-10-02", "0.11"},
                                                   {"2025-12-03", "0.12"},
                                                   {"2025-12-18", "0.13"},
                                                   {"2026-01-20", "0.14"},
                                                   {"2026-01-29", "0.15"},
                                                   {"2026-03-20", "0.18"},
                                                   {"2026-04-27", "0.20"}});

void read_quantisation(const document::Node& record, Evidence& evidence) {
  evidence.precision = text_at(record, "precision");
  const auto take_word = [&](std::string_view word) {
    if (evidence.weight_quantisation.empty() && mentions(evidence.precision, word)) {
      evidence.weight_quantisation = word;
    }
  };
  if (const document::Node* quant = member_at(record, "quant")) {
    evidence.weight_quantisation = core::lower_case(text_at(*quant, "gemm"));
    // Checkpoints with experts in blocks have their dense layers in blocks, too.
    const std::string experts = core::lower_case(text_at(*quant, "moe"));
    if (evidence.weight_quantisation.empty() || mentions(experts, "fp8_block")) {
      evidence.weight_quantisation = experts;
    }
  }
  for (const std::string_view word : {"nvfp4",
                                      "mxfp4",
                                      "fp8",
                                      "int8",
                                      "w8a8",
                                      "int4",
                                      "awq",
                                      "gptq",
                                      "fp4",
                                      "bf16",
                                      "fp16",
                                      "bfloat16",
                                      "float16",
                                      "fp32"}) {
    take_word(word);
  }
}

/// Engines older than the oldest that is simulated run as that one.
void take_oldest_profile(Evidence& evidence) {
  const auto minor = number_after(evidence.engine_version, "vllm@0.");
  const auto oldest = number_after(kReleases.front().version, "0.");
  if (mentions(evidence.engine, "vllm") && minor && oldest && *minor < *oldest) {
    evidence.assumed.push_back(fmt::format("{} as vllm@{}, the oldest that is simulated",
                                           evidence.engine_version,
                                           kReleases.front().version));
    evidence.engine_version = fmt::format("vllm@{}", kReleases.front().version);
    evidence.old_engine = true;
  }
}

/// "0.9.0" of "vLLM 0.9.0.2.dev108+g71faa" and of "0.9.0 (V1)": three numbers at most.
std::string_view leading_version(std::string_view text) {
  constexpr std::string_view kName = "vllm ";
  if (core::lower_case(text.substr(0, kName.size())) == kName) {
    text.remove_prefix(kName.size());
  }
  constexpr int kNumbers = 3;
  int dots = 0;
  const auto* const end = std::ranges::find_if(text, [&](char c) {
    dots += c == '.' ? 1 : 0;
    return dots == kNumbers || (c != '.' && (c < '0' || c > '9'));
  });
  std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  while (!number.empty() && number.back() == '.') {
    number.remove_suffix(1);
  }
  return number;
}

}  // namespace

std::optional<std::int64_t> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* const begin = text.data() + at + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc{} && value > 0 ? std::optional(value) : std::nullopt;
}

std::string version_option(std::string_view engine, std::string_view text, std::string_view date) {
  const bool is_vllm = engine.empty() || mentions(engine, "vllm");
  std::string name = is_vllm ? "vllm" : core::lower_case(engine);
  const std::string_view number = leading_version(text);
  if (number.find('.') != std::string_view::npos && number.front() != '.') {
    return fmt::format("{}@{}", name, number);
  }
  if (!is_vllm) {
    return name;
  }
  std::string_view version;
  for (const auto& release : kReleases) {
    if (date.size() >= release.date.size() && date.substr(0, release.date.size()) >= release.date) {
      version = release.version;
    }
  }
  return version.empty() ? std::string() : fmt::format("vllm@{}", version);
}

void read_identity(const document::Node& record, Evidence& evidence) {
  evidence.id = text_at(record, "id");
  evidence.family = text_at(record, "family");
  evidence.run = text_at(record, "exp_name");
  evidence.stage = text_at(record, "stage");
  evidence.model = text_at(record, "model");
  evidence.gpu = text_at(record, "gpu");
  evidence.num_gpus = count_at(record, "num_gpus").value_or(0);
  evidence.tensor_parallel = std::max<std::int64_t>(1, count_at(record, "tp").value_or(1));
  evidence.knows_ranks = count_at(record, "tp").has_value() || evidence.num_gpus <= 1;
  evidence.pipeline_parallel = std::max<std::int64_t>(1, count_at(record, "pp").value_or(1));
  evidence.data_parallel = std::max<std::int64_t>(1, count_at(record, "dp").value_or(1));
  evidence.expert_parallel = std::max<std::int64_t>(1, count_at(record, "ep").value_or(1));
  if (!count_at(record, "ep") && mentions(text_at(record, "ep_note"), "EP=TP*DP auto-enabled")) {
    evidence.expert_parallel = evidence.tensor_parallel * evidence.data_parallel;
    evidence.assumed.push_back(
        fmt::format("expert parallelism over {} ranks, by ep_note", evidence.expert_parallel));
  }
  read_quantisation(record, evidence);
  evidence.engine = text_at(record, "engine");
  evidence.date = text_at(record, "measured_date");
  evidence.stated_version = text_at(record, "engine_version");
  evidence.engine_version = version_option(
      evidence.engine, text_at(record, "engine_version"), text_at(record, "measured_date"));
  take_oldest_profile(evidence);
  evidence.steady_state = mentions(text_at(record, "measured_side"), "steady state");
  evidence.server_clock = mentions(text_at(record, "measured_side"), "server") &&
                          !mentions(text_at(record, "measured_side"), "client");
  if (const document::Node* flags = member_at(record, "flags");
      flags != nullptr && flags->is_list()) {
    for (const auto& flag : flags->items()) {
      if (flag.is_string()) {
        evidence.flags.push_back(flag.as_string());
      }
    }
  }
}

}  // namespace ridgeline::records
