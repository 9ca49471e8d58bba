#include "cli/original_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/reader.hpp"
#include "scenario/scenario.hpp"
#include "verbs/trace_options.hpp"

namespace ridgeline::cli {
namespace {

/// A workload of the original simulator: 100 requests, one a second, lengths of a normal
/// distribution cut at both ends. Source: inference-sim, defaults.yaml.
struct NamedWorkload {
  std::string_view name;
  std::string_view input;
  std::string_view output;
};
constexpr std::array kWorkloads = {
    NamedWorkload{"chatbot",
                  "{distribution: normal, mean: 256, std: 100, min: 2, max: 800}",
                  "{distribution: normal, mean: 256, std: 100, min: 1, max: 1024}"},
    NamedWorkload{"contentgen",
                  "{distribution: normal, mean: 1024, std: 150, min: 10, max: 2048}",
                  "{distribution: normal, mean: 1024, std: 200, min: 10, max: 2048}"},
    NamedWorkload{"summarization",
                  "{distribution: normal, mean: 4096, std: 500, min: 100, max: 8192}",
                  "{distribution: normal, mean: 512, std: 150, min: 10, max: 2048}"},
    NamedWorkload{"multidoc",
                  "{distribution: normal, mean: 10240, std: 1200, min: 500, max: 20480}",
                  "{distribution: normal, mean: 1536, std: 300, min: 50, max: 4096}"},
    NamedWorkload{"distribution",
                  "{distribution: normal, mean: 512, std: 256, min: 2, max: 7000}",
                  "{distribution: normal, mean: 512, std: 256, min: 2, max: 7000}"},
};
constexpr std::string_view kOriginalRate = "1";
constexpr std::string_view kOriginalRequests = "100";

constexpr std::string_view kV1 = "v1";
constexpr std::string_view kV2 = "v2-mfu";
/// The published state that the words mean.
constexpr std::string_view kV2Model = "v2-final";

void add_model(const Arguments& arguments,
               std::vector<scenario::Override>& overrides,
               core::Errors& errors) {
  const bool roofline = arguments.value("roofline", "false") == "true";
  const GivenFlag* version = arguments.find("roofline-version");
  if (!roofline && version == nullptr) {
    return;
  }
  if (arguments.has("latency")) {
    errors.push_back(usage_error(
        "--latency", "would be ignored: --roofline chooses the step-time model", "take one out"));
    return;
  }
  const std::array<std::string, 2> versions = {std::string(kV1), std::string(kV2)};
  const std::string wanted =
      version != nullptr ? version->value : std::string(arguments.has("bench-data") ? kV2 : kV1);
  if (std::ranges::find(versions, wanted) == versions.end()) {
    errors.push_back(bad_choice("roofline-version", wanted, versions));
    return;
  }
  overrides.push_back(
      {.path = "latency.name", .text = std::string(wanted == kV2 ? kV2Model : kV1)});
}

/// The lengths of a word of --workload, and all words in `names`.
std::optional<verbs::PresetLengths> lengths_named(const std::string& wanted,
                                                  std::vector<std::string>& names) {
  std::optional<verbs::PresetLengths> found;
  for (const NamedWorkload& workload : kWorkloads) {
    names.emplace_back(workload.name);
    if (workload.name == wanted) {
      found = {.preset = wanted,
               .input = std::string(workload.input),
               .output = std::string(workload.output)};
    }
  }
  for (const verbs::PresetLengths& lengths : verbs::preset_lengths()) {
    if (std::ranges::find(names, lengths.preset) == names.end()) {
      names.push_back(lengths.preset);
      found = lengths.preset == wanted ? lengths : found;
    }
  }
  return found;
}

void add_workload(const Arguments& arguments,
                  std::vector<scenario::Override>& overrides,
                  core::Errors& errors) {
  const GivenFlag* given = arguments.find("workload");
  if (given == nullptr) {
    return;
  }
  const std::string wanted = core::lower_case(given->value);
  std::vector<std::string> names;
  const auto found = lengths_named(wanted, names);
  if (!found) {
    errors.push_back(bad_choice("workload", given->value, names));
    if (verbs::is_workload_preset(wanted)) {
      errors.back().hint = fmt::format(
          "a preset of ours: --trace FILE with ridgeline_workload: 1 and sources: [{{preset: {}, "
          "request_rate: 2, num_prompts: 100}}]",
          wanted);
    }
    return;
  }
  const auto set = [&](std::string_view flag, std::string path, std::string_view text) {
    if (!arguments.has(flag)) {
      overrides.push_back({.path = std::move(path), .text = std::string(text)});
    }
  };
  set("input-len", "workload.input_len", found->input);
  set("output-len", "workload.output_len", found->output);
  if (!arguments.has("duration")) {
    set("num-prompts", "workload.num_prompts", kOriginalRequests);
  }
  if (!arguments.has("max-concurrency") && arguments.value("arrivals") != "at-once") {
    set("request-rate", "workload.request_rate", kOriginalRate);
    set("arrivals", "workload.arrivals", "constant");
  }
}

/// The folder itself, or the one in it that is called like the network, as the original looked.
std::string config_folder(const std::string& folder, const std::string& network) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(folder) / "config.json", ignored)) {
    return folder;
  }
  const std::string name = core::lower_case(network.substr(network.rfind('/') + 1));
  const auto below = std::filesystem::path(folder) / name;
  const bool there = !name.empty() && std::filesystem::exists(below / "config.json", ignored);
  return there ? below.string() : folder;
}

}  // namespace

std::vector<FlagSpec> original_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags;
  flags.push_back({.name = "roofline", .takes = Takes::kTruth});
  flags.push_back({.name = "roofline-version", .value = "v1|v2-mfu"});
  flags.push_back({.name = "workload", .value = "NAME"});
  flags.push_back({.name = "model-config-folder", .value = "FOLDER"});
  return flags;
}

core::Result<std::vector<scenario::Override>> original_overrides(const Arguments& arguments) {
  std::vector<scenario::Override> overrides;
  core::Errors errors;
  add_model(arguments, overrides, errors);
  add_workload(arguments, overrides, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  if (const GivenFlag* folder = arguments.find("model-config-folder")) {
    overrides.push_back(
        {.path = "model", .text = config_folder(folder->value, arguments.value("model"))});
  }
  return overrides;
}

}  // namespace ridgeline::cli
