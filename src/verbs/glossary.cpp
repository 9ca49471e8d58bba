#include "verbs/glossary.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/roofline/setting_names.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

constexpr auto kGlossary = std::to_array<GlossaryEntry>({
    {"MFU database", "kernel tables: --bench-data DIR; see kernels check, kernels lookup"},
    {"nearest-non-zero fallback", "--latency-set zero_rows=published|nearest|first|v1"},
    {"maxKVLen", "--latency-set decode_attention=max"},
    {"heterogeneous", "uneven: a batch whose contexts differ, as step --decode 8192,128x7"},
    {"weighted-average blend", "--latency-set mixed=default"},
    {"MAPE", "mean_abs_pct, in validate"},
    {"QPS", "request_rate: --request-rate N"},
    {"synchronous", "one client: --max-concurrency 1"},
    {"constant-rate", "--arrivals constant"},
    {"throughput", "everything at once: --arrivals at-once"},
    {"StepDebugInfo", "--steps-out FILE.jsonl, summed up by steps FILE.jsonl"},
    {"blis_evaluator.py", "validate FILE"},
    {"run_benchmarks.py", "the profiler, tools/profiler; kernels make does without a GPU"},
    {"sim-results", "validate FILE runs what a measured file describes, and compares"},
    {"compose", "several sources in one description: run --trace FILE"},
    {"phase",
     "prefill, decode or mixed: by_phase of steps, an axis of validate; a stage is a part of a "
     "run"},
});

/// What two spellings of a word have in common.
std::string folded(std::string_view word) {
  std::string bare;
  for (const char letter : word) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      bare += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  return bare;
}

bool contains_any(std::string_view text, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// The first word in quotes.
std::string_view quoted_word(std::string_view message) {
  const auto open = message.find_first_of("'\"");
  if (open == std::string_view::npos) {
    return {};
  }
  const auto close = message.find(message[open], open + 1);
  return close == std::string_view::npos ? std::string_view()
                                         : message.substr(open + 1, close - open - 1);
}

/// The word that an error is about, if that is a name that nothing has or a value that is no
/// choice.
std::string_view unknown_word(const core::Error& error) {
  static constexpr std::array<std::string_view, 3> kNoName = {
      "no such flag", "no such constant or switch", "unknown key"};
  static constexpr std::array<std::string_view, 2> kNoChoice = {"expected one of",
                                                                "expected a verb"};
  if (contains_any(error.message, kNoName)) {
    const std::string_view field = error.field;
    return field.substr(field.rfind('.') + 1);
  }
  if (contains_any(error.message, kNoChoice)) {
    return quoted_word(error.message);
  }
  return {};
}

}  // namespace

std::span<const GlossaryEntry> glossary() {
  return kGlossary;
}

const GlossaryEntry* find_in_glossary(std::string_view word) {
  const std::string wanted = folded(word);
  const auto* const found = std::ranges::find_if(
      kGlossary, [&](const GlossaryEntry& entry) { return folded(entry.theirs) == wanted; });
  return found == kGlossary.end() ? nullptr : found;
}

core::Error with_translation(core::Error error) {
  if (error.field == "cluster.autoscaling.metric") {
    // This metric is of an instance; the documents' words are of the workload.
    error.hint = error.hint.empty() ? "none is a rate: requests are those in flight" : error.hint;
    return error;
  }
  if (const GlossaryEntry* entry = find_in_glossary(unknown_word(error))) {
    error.hint = fmt::format("the documents' {} is here {}", entry->theirs, entry->ours);
  }
  return error;
}

std::string glossary_page() {
  report::Sheet sheet("Glossary");
  const auto add = [&](std::string_view theirs, std::string ours) {
    constexpr std::size_t kWidth = 36;
    sheet.row(std::move(ours), fmt::format("  {}", theirs), kWidth);
  };
  sheet.row("Words of the original documents, and what says them here:").gap();
  for (const GlossaryEntry& entry : kGlossary) {
    add(entry.theirs, std::string(entry.ours));
  }
  sheet.gap()
      .row(
          "constants and switches, in hardware_config.json and --latency-set, in any case as are "
          "ours:")
      .gap();
  for (const latency::roofline::SettingAlias& alias : latency::roofline::setting_aliases()) {
    add(alias.theirs,
        fmt::format("{}{}{}",
                    alias.ours,
                    alias.zero_is_one ? "; 0 is 1" : "",
                    alias.per_phase ? ", with bandwidth=per-phase; 0 is the peak" : ""));
  }
  return sheet.render(report::Face::kTerminal, {});
}

}  // namespace ridgeline::verbs
