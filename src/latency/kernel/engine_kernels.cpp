#include "latency/kernel/engine_kernels.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "latency/constant_files.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/settings.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr std::string_view kFile = "engines.yaml";
constexpr std::string_view kSetsFile = "kernel_sets.yaml";
/// A kernel's fixed time that stays, whatever the kernel before hides: its own first loads. Ours: a
/// kernel that does nothing takes about as long.
constexpr core::Seconds kLeastFixed{1e-6};
/// A slip of unit.
constexpr document::Range<double> kOverlap{.lowest = 0.0, .highest = 20.0};

/// Names of vLLM's versions begin so.
constexpr std::string_view kVllm = "vllm@";

constexpr document::Range<double> kUnevenness{.lowest = 1.0, .highest = 10.0};

using GemmSet = std::optional<GemmConstants> Column::*;
constexpr auto kQuantisingGemms = std::to_array<std::pair<std::string_view, GemmSet>>({
    {"gemm_8bit", &Column::gemm_8bit},
    {"gemm_8bit_block", &Column::gemm_8bit_block},
    {"gemm_8bit_deep_gemm", &Column::gemm_8bit_deep_gemm},
    {"gemm_nvfp4", &Column::gemm_nvfp4},
});

/// "vllm@0.18.1": 0 and 18; nothing where it is no version of vLLM.
std::optional<std::pair<int, int>> version_of(std::string_view engine) {
  if (!engine.starts_with(kVllm)) {
    return std::nullopt;
  }
  const char* at = engine.data() + kVllm.size();
  const char* const end = engine.data() + engine.size();
  std::pair<int, int> version{0, 0};
  const auto [dot, error] = std::from_chars(at, end, version.first);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  if (dot != end && *dot == '.') {
    std::from_chars(dot + 1, end, version.second);
  }
  return version;
}

core::Seconds shortened(core::Seconds fixed, core::Seconds by) {
  return std::max(std::min(fixed, kLeastFixed), fixed - by);
}

void overlap(Column& column, core::Seconds by) {
  const auto shorten = [&](auto set) {
    if (column.*set) {
      (column.*set)->fixed = shortened((column.*set)->fixed, by);
    }
  };
  shorten(&Column::gemm_16bit);
  shorten(&Column::gemm_8bit);
  shorten(&Column::gemm_8bit_block);
  shorten(&Column::gemm_8bit_deep_gemm);
  shorten(&Column::gemm_nvfp4);
  shorten(&Column::decode_attention);
  shorten(&Column::decode_attention_8bit);
  shorten(&Column::prefill_attention);
  shorten(&Column::experts_16bit_coarse);
  shorten(&Column::experts_16bit_fine);
  shorten(&Column::experts_8bit_coarse);
  shorten(&Column::experts_8bit_fine);
  shorten(&Column::experts_8bit_block);
  shorten(&Column::experts_nvfp4);
  shorten(&Column::experts_mxfp4_mxfp8);
  shorten(&Column::experts_weight_only);
  shorten(&Column::experts_mxfp4);
  for (const auto set : {&Column::decode_attention, &Column::decode_attention_8bit}) {
    if (column.*set) {
      (column.*set)->floor = shortened((column.*set)->floor, by);
    }
  }
}

void fuse(Column& column, const std::vector<std::string>& sets) {
  for (const auto& [name, set] : kQuantisingGemms) {
    if (std::ranges::find(sets, name) != sets.end() && column.*set && column.gemm_16bit) {
      (column.*set)->fixed = std::min((column.*set)->fixed, column.gemm_16bit->fixed);
    }
  }
}

std::vector<std::string> read_names(document::ObjectReader& reader, const std::string& key) {
  std::vector<std::string> names;
  if (const document::Node* list = reader.node(key)) {
    for (const document::Node& name :
         list->is_list() ? list->items() : std::vector<document::Node>{}) {
      if (!name.is_string()) {
        reader.problem(key, fmt::format("found {}, expected a list of names", name.describe()));
        continue;
      }
      names.push_back(name.as_string());
    }
  }
  return names;
}

std::vector<ModelSetting> read_step(document::ObjectReader& reader) {
  std::vector<ModelSetting> settings;
  if (const document::Node* step = reader.node("step")) {
    for (const auto& member : step->members()) {
      settings.push_back({.key = member.key, .value = member.value});
    }
  }
  return settings;
}

EngineKernels read_engine(const document::Node& node,
                          const std::string& path,
                          core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  EngineKernels kernels;
  kernels.name = reader.required_string("name");
  kernels.fuses_all_reduce = reader.boolean("fuses_all_reduce").value_or(false);
  kernels.takes_deep_gemm = reader.boolean("takes_deep_gemm").value_or(false);
  kernels.kernels = read_names(reader, "kernels");
  if (const document::Node* families = reader.node("by_family")) {
    for (const document::Node& family : families->items()) {
      document::ObjectReader each(family, reader.path_of("by_family"), errors);
      kernels.by_family.push_back({.families = read_names(each, "families"),
                                   .kernels = read_names(each, "kernels"),
                                   .step = read_step(each)});
      each.finish();
    }
  }
  kernels.best_8bit_tiles = reader.boolean("best_8bit_tiles").value_or(false);
  kernels.uneven_experts = reader.real("uneven_experts", kUnevenness);
  if (const document::Node* sets = reader.node("fused_quantisation")) {
    for (const document::Node& set :
         sets->is_list() ? sets->items() : std::vector<document::Node>{}) {
      const bool is_known =
          set.is_string() && std::ranges::any_of(kQuantisingGemms, [&](const auto& known) {
            return known.first == set.as_string();
          });
      if (!is_known) {
        reader.problem("fused_quantisation",
                       fmt::format("found {}, expected gemm_8bit, gemm_8bit_block, "
                                   "gemm_8bit_deep_gemm or gemm_nvfp4",
                                   set.describe()));
        continue;
      }
      kernels.fused_quantisation.push_back(set.as_string());
    }
  }
  if (const document::Node* overlapped = reader.node("overlapped_us")) {
    document::ObjectReader each(*overlapped, reader.path_of("overlapped_us"), errors);
    for (const auto& member : overlapped->members()) {
      kernels.overlapped.emplace_back(member.key,
                                      core::microseconds(each.required_real(member.key, kOverlap)));
    }
    each.finish();
  }
  kernels.step = read_step(reader);
  reader.finish();
  return kernels;
}

/// The compiled-in file of that name, read.
template <class Read>
auto read_embedded(std::string_view name, Read read) {
  for (const document::EmbeddedFile& file : constant_files()) {
    if (file.name == name) {
      auto found = read(file.text, std::string(name));
      RIDGELINE_CHECK(found.has_value(), core::to_string(found.error().front()));
      return std::move(*found);
    }
  }
  RIDGELINE_CHECK(false, "the file is embedded");
}

const std::vector<EngineKernels>& all_engines() {
  static const std::vector<EngineKernels> kEngines = read_embedded(kFile, read_engine_kernels);
  return kEngines;
}

const std::vector<KernelSet>& all_sets() {
  static const std::vector<KernelSet> kSets = read_embedded(kSetsFile, read_kernel_sets);
  return kSets;
}

/// The columns of those sets, what a later one states before what an earlier one does.
std::vector<Column> columns_of(const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const std::string& name : names) {
    const auto set = std::ranges::find(all_sets(), name, &KernelSet::name);
    RIDGELINE_CHECK(set != all_sets().end(), "kernel_sets.yaml has what engines.yaml names");
    for (const Column& column : set->columns) {
      const auto known = std::ranges::find(columns, column.name, &Column::name);
      if (known == columns.end()) {
        columns.push_back(column);
      } else {
        *known = completed(column, *known);
      }
    }
  }
  return columns;
}

bool is_of(const FamilyKernels& own, std::string_view family) {
  return std::ranges::find(own.families, family) != own.families.end();
}

/// The engine's, with what it does otherwise for networks of a family.
EngineKernels for_family(EngineKernels engine, std::string_view family) {
  for (const FamilyKernels& own : engine.by_family) {
    if (is_of(own, family)) {
      engine.kernels.insert(engine.kernels.end(), own.kernels.begin(), own.kernels.end());
      engine.step.insert(engine.step.end(), own.step.begin(), own.step.end());
    }
  }
  return engine;
}

KernelSet read_kernel_set(const document::Node& node,
                          const std::string& path,
                          core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  KernelSet set;
  set.name = reader.required_string("name");
  set.columns = read_columns(reader, errors);
  reader.finish();
  return set;
}

/// A document that holds one list.
template <class Item, class Read>
core::Result<std::vector<Item>> read_list(std::string_view text,
                                          const std::string& file,
                                          const char* key,
                                          const Read& read) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  document::ObjectReader root(*document, "", errors);
  std::vector<Item> items;
  const document::Node* list = root.node(key);
  if (list == nullptr || !list->is_list()) {
    root.problem(key, fmt::format("missing, expected a list of {}", key));
  } else {
    for (const document::Node& node : list->items()) {
      items.push_back(read(node, fmt::format("{}[{}]", key, items.size()), errors));
    }
  }
  root.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return items;
}

}  // namespace

core::Result<std::vector<EngineKernels>> read_engine_kernels(std::string_view text,
                                                             const std::string& file) {
  return read_list<EngineKernels>(text, file, "engines", read_engine);
}

core::Result<std::vector<KernelSet>> read_kernel_sets(std::string_view text,
                                                      const std::string& file) {
  return read_list<KernelSet>(text, file, "kernels", read_kernel_set);
}

core::Result<Constants> with_kernels(const Constants& base,
                                     const EngineKernels& kernels,
                                     std::vector<Column> columns) {
  Constants constants = overlay(base, std::move(columns));
  for (Column& column : constants.columns) {
    if (kernels.best_8bit_tiles && column.gemm_8bit && column.gemm_8bit->tiles_by_rows) {
      column.gemm_8bit = column.gemm_16bit;
    }
    fuse(column, kernels.fused_quantisation);
    for (const auto& [architecture, time] : kernels.overlapped) {
      if (column.architecture == architecture) {
        overlap(column, time);
      }
    }
  }
  if (kernels.uneven_experts) {
    constants.step.uneven_experts = *kernels.uneven_experts;
  }
  return with_settings(std::move(constants), kernels.step);
}

const EngineKernels* kernels_of(std::string_view engine) {
  const std::vector<EngineKernels>& all = all_engines();
  const auto wanted = version_of(engine);
  const EngineKernels* found = nullptr;
  for (const EngineKernels& kernels : all) {
    const auto from = version_of(kernels.name);
    if (kernels.name == engine || (wanted && from && *from <= *wanted)) {
      found = &kernels;
    }
  }
  return found;
}

const Constants& constants_of_engine(std::string_view engine, std::string_view family) {
  const EngineKernels* const kernels = kernels_of(engine);
  if (kernels == nullptr) {
    return builtin_constants();
  }
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, Constants> made;
  const bool is_own = std::ranges::any_of(
      kernels->by_family, [&](const FamilyKernels& own) { return is_of(own, family); });
  const std::lock_guard lock(mutex);
  std::pair key(kernels->name, is_own ? std::string(family) : std::string());
  auto found = made.find(key);
  if (found == made.end()) {
    const EngineKernels own = for_family(*kernels, family);
    auto constants = with_kernels(builtin_constants(), own, columns_of(own.kernels));
    RIDGELINE_CHECK(constants.has_value(), core::to_string(constants.error().front()));
    found = made.emplace(std::move(key), std::move(*constants)).first;
  }
  return found->second;
}

bool takes_deep_gemm(std::string_view engine) {
  const EngineKernels* const kernels = kernels_of(engine);
  return kernels != nullptr && kernels->takes_deep_gemm;
}

bool fuses_all_reduce(std::string_view engine) {
  const EngineKernels* const kernels = kernels_of(engine);
  return kernels != nullptr && kernels->fuses_all_reduce;
}

}  // namespace ridgeline::latency::kernel
