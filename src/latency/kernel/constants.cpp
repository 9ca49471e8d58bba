#include "latency/kernel/constants.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "latency/constant_files.hpp"

namespace ridgeline::latency::kernel {
namespace {

using document::ObjectReader;
using RealRange = document::Range<double>;

// Plausible values: they catch a slip of unit or point, not a bad fit.
constexpr RealRange kMicroseconds{.lowest = 0.0, .highest = 1e5};
constexpr RealRange kEfficiency{.lowest = 0.01, .highest = 1.5};
constexpr RealRange kShare{.lowest = 0.01, .highest = 1.0};
constexpr RealRange kFactor{.lowest = 0.0, .highest = 100.0};
constexpr RealRange kGain{.lowest = 0.1, .highest = 10.0};
constexpr RealRange kClock{.lowest = 0.1, .highest = 10.0};
constexpr RealRange kGigabytes{.lowest = 0.1, .highest = 1e4};
constexpr RealRange kExponent{.lowest = 1.0, .highest = 64.0};
constexpr RealRange kRows{.lowest = 0.0, .highest = 4096.0};
constexpr RealRange kMegabytes{.lowest = 0.001, .highest = 1e4};
constexpr RealRange kPercent{.lowest = 0.0, .highest = 100.0};
constexpr RealRange kBytes{.lowest = 1.0, .highest = 1e12};
constexpr double kMillion = 1e6;
constexpr double kBillion = 1e9;

/// Reads the numbers of one map in the units that their names end in.
class Numbers {
 public:
  Numbers(const document::Node& node, std::string path, core::Errors& errors)
      : errors_(errors), reader_(node, std::move(path), errors) {}

  core::Seconds microseconds(std::string_view key) {
    return core::microseconds(reader_.required_real(key, kMicroseconds));
  }
  double real(std::string_view key, RealRange range) { return reader_.required_real(key, range); }
  /// What only some sets state; `otherwise` makes its term vanish.
  double optional(std::string_view key, RealRange range, double otherwise) {
    return reader_.real(key, range).value_or(otherwise);
  }
  core::Seconds optional_microseconds(std::string_view key) {
    return core::microseconds(optional(key, kMicroseconds, 0.0));
  }
  double efficiency(std::string_view key) { return real(key, kEfficiency); }
  core::Bytes bytes(std::string_view key) { return core::Bytes(real(key, kBytes)); }
  std::int64_t integer(std::string_view key, document::Range<std::int64_t> range) {
    return reader_.required_integer(key, range);
  }
  std::int64_t optional_integer(std::string_view key,
                                document::Range<std::int64_t> range,
                                std::int64_t otherwise) {
    return reader_.integer(key, range).value_or(otherwise);
  }
  ObjectReader& reader() { return reader_; }
  [[nodiscard]] core::Errors& errors() { return errors_; }
  void finish() { reader_.finish(); }

 private:
  core::Errors& errors_;
  ObjectReader reader_;
};

/// Written out at `tiles_by_rows`, with the members of TilesByRows.
void read_tiles(Numbers& numbers, GemmConstants& set) {
  const document::Node* node = numbers.reader().node("tiles_by_rows");
  if (node == nullptr) {
    return;
  }
  Numbers tiles(*node, numbers.reader().path_of("tiles_by_rows"), numbers.errors());
  set.tiles_by_rows =
      TilesByRows{.efficiency_up_to_64 = tiles.efficiency("efficiency_up_to_64"),
                  .efficiency_17_to_32 = tiles.reader().real("efficiency_17_to_32", kEfficiency),
                  .efficiency_up_to_128 = tiles.efficiency("efficiency_up_to_128"),
                  .efficiency_large = tiles.efficiency("efficiency_large"),
                  .partial_cluster_penalty = tiles.real("partial_cluster_penalty", kFactor)};
  tiles.finish();
}

void read(Numbers& numbers, GemmConstants& set) {
  set.fixed = numbers.microseconds("fixed_us");
  set.bandwidth_efficiency = numbers.efficiency("bandwidth_efficiency");
  set.ramp = numbers.microseconds("ramp_us");
  set.ramp_bytes = core::Bytes(numbers.real("ramp_mb", kMegabytes) * kMillion);
  set.compute_efficiency = numbers.efficiency("compute_efficiency");
  set.small_tile_penalty = numbers.real("small_tile_penalty_percent", kPercent) / 100.0;
  set.overlap_exponent = numbers.real("overlap_exponent", kExponent);
  set.split = numbers.microseconds("split_us");
  set.wave_smoothing = numbers.optional("wave_smoothing", {0.0, 1.0}, 0.0);
  set.startup_depth = numbers.optional("startup_depth", kRows, 0.0);
  set.reread_factor = numbers.optional("reread_factor", kFactor, 0.0);
  set.sustained_slowdown = numbers.optional("sustained_slowdown", {0.0, 1.0}, 0.0);
  set.before_hopper = numbers.optional("before_hopper", kEfficiency, 1.0);
  read_tiles(numbers, set);
}

std::optional<core::BytesPerSecond> multiprocessor_rate(Numbers& numbers) {
  const auto rate = numbers.reader().real("multiprocessor_gb_s", kGigabytes);
  return rate ? std::optional(core::BytesPerSecond(kBillion * *rate)) : std::nullopt;
}

void read(Numbers& numbers, DecodeAttentionConstants& set) {
  set.floor = numbers.microseconds("floor_us");
  set.fixed = numbers.microseconds("fixed_us");
  set.kv_head_wave = numbers.microseconds("kv_head_wave_us");
  set.kv_head_wave_floor = numbers.optional_microseconds("kv_head_wave_floor_us");
  set.bandwidth_efficiency = numbers.efficiency("bandwidth_efficiency");
  set.query_head_wave = numbers.optional_microseconds("query_head_wave_us");
  if (const document::Node* node = numbers.reader().node("unsplit")) {
    Numbers blocks(*node, numbers.reader().path_of("unsplit"), numbers.errors());
    set.unsplit = UnsplitDecode{.multiprocessor = core::BytesPerSecond(
                                    kBillion * blocks.real("multiprocessor_gb_s", kGigabytes))};
    blocks.finish();
  }
  set.before_hopper = numbers.optional("before_hopper", kEfficiency, 1.0);
  set.multiprocessor = multiprocessor_rate(numbers);
}

void read(Numbers& numbers, PrefillAttentionConstants& set) {
  set.floor = numbers.microseconds("floor_us");
  set.compute_efficiency = numbers.efficiency("compute_efficiency");
  set.startup_tokens = numbers.real("startup_tokens", kRows);
  set.overlap_exponent = numbers.real("overlap_exponent", kExponent);
  set.straggler_weight = numbers.real("straggler_weight", kFactor);
  set.straggler_exponent = numbers.optional("straggler_exponent", kExponent, 1.0);
  set.fixed = numbers.optional_microseconds("fixed_us");
  set.query_traffic_factor = numbers.optional("query_traffic_factor", kFactor, 0.0);
  set.kv_traffic_factor = numbers.optional("kv_traffic_factor", kFactor, 0.0);
  set.traffic_exponent = numbers.optional("traffic_exponent", kExponent, 1.0);
}

void read(Numbers& numbers, ExpertConstants& set) {
  set.fixed = numbers.microseconds("fixed_us");
  set.bandwidth_efficiency = numbers.efficiency("bandwidth_efficiency");
  set.pair_traffic_factor = numbers.real("pair_traffic_factor", kFactor);
  set.compute_efficiency = numbers.efficiency("compute_efficiency");
  set.tile_rows = numbers.real("tile_rows", kRows);
  set.overlap_exponent = numbers.real("overlap_exponent", kExponent);
  set.per_expert = numbers.microseconds("expert_us");
  set.before_hopper = numbers.optional("before_hopper", kEfficiency, 1.0);
  set.tile_share = numbers.reader().real("tile_share", kFactor);
  set.multiprocessor = multiprocessor_rate(numbers);
  set.warp_macs = numbers.reader().real("warp_macs", kRows);
  if (const document::Node* node = numbers.reader().node("few_tokens")) {
    Numbers tiles(*node, numbers.reader().path_of("few_tokens"), numbers.errors());
    set.few_tokens = FewTokenTiles{.compute_efficiency = tiles.efficiency("compute_efficiency"),
                                   .tile_rows = tiles.real("tile_rows", kRows)};
    tiles.finish();
  }
}

void read(Numbers& numbers, AllReduceConstants& set) {
  set.one_shot = numbers.microseconds("one_shot_us");
  set.one_shot_rank = numbers.microseconds("one_shot_rank_us");
  set.one_shot_efficiency = numbers.efficiency("one_shot_efficiency");
  set.two_shot = numbers.microseconds("two_shot_us");
  set.two_shot_efficiency = numbers.efficiency("two_shot_efficiency");
  set.nccl = numbers.microseconds("nccl_us");
  set.nccl_efficiency = numbers.efficiency("nccl_efficiency");
  if (const auto rank = numbers.reader().real("two_shot_rank_us", kMicroseconds)) {
    set.two_shot_rank = core::microseconds(*rank);
  }
  if (const document::Node* node = numbers.reader().node("nccl_large")) {
    Numbers large(*node, numbers.reader().path_of("nccl_large"), numbers.errors());
    set.nccl_large = LargeMessages{.start = large.microseconds("us"),
                                   .efficiency = large.efficiency("efficiency"),
                                   .memory_passes = large.real("memory_passes", kFactor)};
    large.finish();
  }
  set.nccl_switch_gain = numbers.reader().real("nccl_switch_gain", kGain);
  set.clock_ghz = numbers.reader().real("clock_ghz", kClock);
}

void read(Numbers& numbers, StepConstants& set) {
  set.layer_launch_gap = numbers.microseconds("layer_launch_gap_us");
  set.norm = numbers.optional_microseconds("norm_us");
  set.piecewise_layer_gap = numbers.microseconds("piecewise_layer_gap_us");
  set.uncaptured_expert_gap = numbers.microseconds("uncaptured_expert_gap_us");
  if (const document::Node* node = numbers.reader().node("uncaptured_expert_gap_on")) {
    Numbers on(*node, numbers.reader().path_of("uncaptured_expert_gap_on"), numbers.errors());
    set.uncaptured_expert_gap_on =
        MeasuredOn{.gpu = on.reader().required_string("gpu"),
                   .most_experts = on.integer("most_experts", {1, 1'000'000}),
                   .server = on.reader().required_string("server")};
    on.finish();
  }
  set.host_launch = numbers.optional_microseconds("host_launch_us");
  set.host_experts = numbers.optional_microseconds("host_experts_us");
  set.host_pieces = numbers.optional_microseconds("host_pieces_us");
  set.indexer = numbers.optional_microseconds("indexer_us");
  set.recurrence = numbers.optional_microseconds("recurrence_us");
  set.step_gap = numbers.microseconds("step_gap_us");
  set.elementwise_traffic_factor = numbers.real("elementwise_traffic_factor", kFactor);
  set.elementwise_bandwidth_efficiency = numbers.efficiency("elementwise_bandwidth_efficiency");
  set.streamed_expert_fraction = numbers.optional("streamed_expert_fraction", {0.0, 1.0}, 1.0);
  set.random_tokens_popularity_shape =
      numbers.optional("random_tokens_popularity_shape", {0.0, 1e6}, 0.0);
  set.has_popularity_law = set.random_tokens_popularity_shape > 0.0;
  set.uneven_experts = numbers.optional("uneven_experts", {1.0, 10.0}, 1.0);
  set.uneven_coarse_experts = numbers.optional("uneven_coarse_experts", {1.0, 10.0}, 1.0);
  set.uneven_marlin_experts = numbers.optional("uneven_marlin_experts", {1.0, 10.0}, 1.0);
  set.unfused_routing = numbers.optional_microseconds("unfused_routing_us");
  set.wide_norm_kernels = numbers.optional_integer("wide_norm_kernels", {1, 100}, 1);
  set.fused_norm = numbers.optional_microseconds("fused_norm_us");
  set.fused_quantisation = numbers.optional_microseconds("fused_quantisation_us");
  set.verified_experts_in_common = numbers.real("verified_experts_in_common", {0.0, 1.0});
}

void read(Numbers& numbers, SamplingConstants& set) {
  set.bytes_per_logit = numbers.bytes("bytes_per_logit");
  set.truncation = numbers.microseconds("truncation_us");
  set.truncation_per_logit = numbers.microseconds("truncation_us_per_million_logits") / kMillion;
  set.penalty_per_logit = numbers.microseconds("penalty_us_per_million_logits") / kMillion;
  set.reference_sms = numbers.integer("reference_sms", {1, 10'000});
  set.reference_clock_ghz = numbers.real("reference_clock_ghz", kClock);
}

void read(Numbers& numbers, AttentionConstants& set) {
  set.short_chunk = core::Tokens(numbers.integer("short_chunk_tokens", {0, 4096}));
  set.prefill_bandwidth_efficiency = numbers.efficiency("prefill_bandwidth_efficiency");
  set.shared_context_saving = numbers.real("shared_context_saving", {0.0, 0.99});
  set.mixed_tile_efficiency = numbers.optional("mixed_tile_efficiency", {0.0, 1.0}, 0.0);
  set.exponentials = numbers.reader().boolean("exponentials").value_or(false);
}

/// The map at `key`, which must be there: noted as a problem otherwise.
template <class Read>
void read_map(ObjectReader& parent, std::string_view key, core::Errors& errors, Read read_members) {
  const document::Node* node = parent.node(key);
  if (node == nullptr) {
    parent.problem(key, "missing, expected a map");
    return;
  }
  Numbers numbers(*node, parent.path_of(key), errors);
  read_members(numbers);
  numbers.finish();
}

template <class Set>
void read_set(ObjectReader& parent, std::string_view key, core::Errors& errors, Set& set) {
  read_map(parent, key, errors, [&set](Numbers& numbers) { read(numbers, set); });
}

PcieConstants read_pcie(Numbers& numbers) {
  return {.two_ranks = numbers.microseconds("two_ranks_us"),
          .rank = numbers.microseconds("rank_us"),
          .two_ranks_efficiency = numbers.efficiency("two_ranks_efficiency"),
          .bus_efficiency_up_to_4_ranks = numbers.efficiency("bus_efficiency_up_to_4_ranks"),
          .bus_efficiency_above_4_ranks = numbers.efficiency("bus_efficiency_above_4_ranks")};
}

void read_exchange(ObjectReader& root, core::Errors& errors, ExchangeConstants& set) {
  read_map(root, "all_reduce", errors, [&](Numbers& numbers) {
    set.one_shot_up_to_4_ranks = numbers.bytes("one_shot_bytes_up_to_4_ranks");
    set.one_shot_above_4_ranks = numbers.bytes("one_shot_bytes_above_4_ranks");
    set.custom = numbers.bytes("custom_bytes");
    set.two_shot_floor = numbers.optional_microseconds("two_shot_floor_us");
    set.two_shot_floor_rank = numbers.optional_microseconds("two_shot_floor_rank_us");
    read_map(
        numbers.reader(), "pcie", errors, [&set](Numbers& pcie) { set.pcie = read_pcie(pcie); });
  });
}

/// A set that a column may leave out.
template <class Set>
std::optional<Set> read_optional(ObjectReader& column, std::string_view key, core::Errors& errors) {
  if (column.node(key) == nullptr) {
    return std::nullopt;
  }
  Set set;
  read_set(column, key, errors, set);
  return set;
}

Column read_column(const document::Node& node, const std::string& path, core::Errors& errors) {
  ObjectReader reader(node, path, errors);
  Column column;
  column.name = reader.required_string("name");
  column.architecture = reader.required_string("architecture");
  column.gemm_16bit = read_optional<GemmConstants>(reader, "gemm_16bit", errors);
  column.gemm_8bit = read_optional<GemmConstants>(reader, "gemm_8bit", errors);
  column.gemm_8bit_block = read_optional<GemmConstants>(reader, "gemm_8bit_block", errors);
  column.gemm_8bit_deep_gemm = read_optional<GemmConstants>(reader, "gemm_8bit_deep_gemm", errors);
  column.gemm_nvfp4 = read_optional<GemmConstants>(reader, "gemm_nvfp4", errors);
  column.decode_attention =
      read_optional<DecodeAttentionConstants>(reader, "decode_attention", errors);
  column.decode_attention_8bit =
      read_optional<DecodeAttentionConstants>(reader, "decode_attention_8bit", errors);
  column.prefill_attention =
      read_optional<PrefillAttentionConstants>(reader, "prefill_attention", errors);
  column.experts_16bit_coarse =
      read_optional<ExpertConstants>(reader, "experts_16bit_coarse", errors);
  column.experts_16bit_fine = read_optional<ExpertConstants>(reader, "experts_16bit_fine", errors);
  column.experts_8bit_coarse =
      read_optional<ExpertConstants>(reader, "experts_8bit_coarse", errors);
  column.experts_8bit_fine = read_optional<ExpertConstants>(reader, "experts_8bit_fine", errors);
  column.experts_8bit_block = read_optional<ExpertConstants>(reader, "experts_8bit_block", errors);
  column.experts_nvfp4 = read_optional<ExpertConstants>(reader, "experts_nvfp4", errors);
  column.experts_mxfp4_mxfp8 =
      read_optional<ExpertConstants>(reader, "experts_mxfp4_mxfp8", errors);
  column.experts_weight_only =
      read_optional<ExpertConstants>(reader, "experts_weight_only", errors);
  column.experts_mxfp4 = read_optional<ExpertConstants>(reader, "experts_mxfp4", errors);
  column.all_reduce = read_optional<AllReduceConstants>(reader, "all_reduce", errors);
  if (reader.node("pcie") != nullptr) {
    read_map(reader, "pcie", errors, [&column](Numbers& pcie) { column.pcie = read_pcie(pcie); });
  }
  reader.finish();
  return column;
}

void complete_from(Column& column, const Column& other) {
  const auto take = [&](auto set) {
    if (!(column.*set)) {
      column.*set = other.*set;
    }
  };
  take(&Column::gemm_16bit);
  take(&Column::gemm_8bit);
  take(&Column::gemm_8bit_block);
  take(&Column::gemm_8bit_deep_gemm);
  take(&Column::gemm_nvfp4);
  take(&Column::decode_attention);
  take(&Column::decode_attention_8bit);
  take(&Column::prefill_attention);
  take(&Column::experts_16bit_coarse);
  take(&Column::experts_16bit_fine);
  take(&Column::experts_8bit_coarse);
  take(&Column::experts_8bit_fine);
  take(&Column::experts_8bit_block);
  take(&Column::experts_nvfp4);
  take(&Column::experts_mxfp4_mxfp8);
  take(&Column::experts_weight_only);
  take(&Column::experts_mxfp4);
  take(&Column::all_reduce);
  take(&Column::pcie);
}

bool complete(const Column& column) {
  return column.gemm_16bit && column.gemm_8bit && column.decode_attention &&
         column.prefill_attention && column.experts_16bit_coarse && column.experts_16bit_fine &&
         column.experts_8bit_coarse && column.experts_8bit_fine && column.all_reduce;
}

void require_generic(ObjectReader& root, const Constants& constants) {
  const bool has_generic =
      std::any_of(constants.columns.begin(), constants.columns.end(), [](const Column& column) {
        return column.name == "generic" && complete(column);
      });
  if (!has_generic) {
    root.problem("columns", "expected a column 'generic' with every set");
  }
}

void read_cut_down(ObjectReader& root, Constants& constants) {
  const document::Node* list = root.node("cut_down_compute");
  if (list == nullptr || !list->is_list()) {
    root.problem("cut_down_compute", "expected a list of GPU names");
    return;
  }
  for (const document::Node& item : list->items()) {
    if (item.is_string()) {
      constants.cut_down_compute.push_back(item.as_string());
    } else {
      root.problem("cut_down_compute", item.describe() + " is not a GPU name");
    }
  }
}

Constants embedded_constants(std::string_view name) {
  for (const document::EmbeddedFile& file : constant_files()) {
    if (file.name == name) {
      auto constants = read_constants(file.text, "data/latency/" + std::string(name));
      RIDGELINE_CHECK(constants.has_value(), core::to_string(constants.error().front()));
      return *std::move(constants);
    }
  }
  RIDGELINE_CHECK(false, std::string(name) + " is not embedded");
}

}  // namespace

std::vector<Column> read_columns(ObjectReader& root, core::Errors& errors) {
  std::vector<Column> columns;
  const document::Node* list = root.node("columns");
  if (list == nullptr || !list->is_list()) {
    root.problem("columns", "expected a list of GPU columns");
    return columns;
  }
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    Column column = read_column(list->items()[i], "columns[" + std::to_string(i) + "]", errors);
    const bool known = std::any_of(columns.begin(), columns.end(), [&](const Column& other) {
      return other.name == column.name;
    });
    if (known) {
      root.problem("columns", "'" + column.name + "' stands there twice");
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

core::Result<Constants> read_constants(std::string_view text, const std::string& file) {
  const core::Result<document::Node> document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  Constants constants;
  ObjectReader root(*document, "", errors);
  read_set(root, "step", errors, constants.step);
  read_set(root, "sampling", errors, constants.sampling);
  read_set(root, "attention", errors, constants.attention);
  read_map(root, "experts", errors, [&constants](Numbers& numbers) {
    constants.coarse_experts = numbers.integer("coarse_experts", {0, 1'000'000});
  });
  read_exchange(root, errors, constants.exchange);
  read_cut_down(root, constants);
  constants.best_compute_share = root.real("best_compute_share", kShare);
  constants.columns = read_columns(root, errors);
  require_generic(root, constants);
  root.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return constants;
}

core::Result<Constants> read_overlay(std::string_view text,
                                     const std::string& file,
                                     const Constants& base) {
  const core::Result<document::Node> document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  ObjectReader root(*document, "", errors);
  std::vector<Column> columns = read_columns(root, errors);
  root.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return overlay(base, std::move(columns));
}

Column completed(Column column, const Column& other) {
  complete_from(column, other);
  return column;
}

Constants overlay(const Constants& base, std::vector<Column> columns) {
  Constants constants = base;
  for (Column& column : columns) {
    const auto same = [&](const Column& other) { return other.name == column.name; };
    const auto old = std::find_if(constants.columns.begin(), constants.columns.end(), same);
    if (old != constants.columns.end()) {
      complete_from(column, *old);
      constants.columns.erase(old);
    }
  }
  columns.insert(columns.end(), constants.columns.begin(), constants.columns.end());
  constants.columns = std::move(columns);
  return constants;
}

const Constants& builtin_constants() {
  static const Constants kConstants = embedded_constants("kernel.yaml");
  return kConstants;
}

}  // namespace ridgeline::latency::kernel
