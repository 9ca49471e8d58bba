#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "model/config_reader.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {

/// Parts of a network that a quantisation treats apart.
enum class Part : std::uint8_t { kMixerIn, kMixerOut, kFfn, kRouted, kShared };
inline constexpr std::size_t kNumParts = 5;

/// Which part a module's name below "layers.N." means: "self_attn.q_proj", "mlp.experts.3.w1".
/// Nothing for what is never quantised, or small: norms, routers, convolutions, indexers.
[[nodiscard]] std::optional<Part> part_of_module(std::string_view name);

/// Number formats by layer and part, filled as a quantization_config is read.
class FormatTable {
 public:
  FormatTable(std::int64_t num_layers, DType base);

  /// The experts stand beside the feed-forward network, not within it (Gemma 4): what is said of
  /// the one does not hold for the others.
  void experts_stand_apart() { experts_apart_ = true; }
  void set_all(DType format);
  /// The experts alone.
  void set_experts(DType format);
  /// One module, by its full name; those outside the decoder's layers but lm_head are ignored.
  void set_module(std::string_view name, DType format);
  /// Modules that a pattern of exceptions means go back to `format`. False when it cannot be
  /// understood.
  [[nodiscard]] bool set_matching(std::string_view pattern, DType format);
  void set_lm_head(DType format) { lm_head_ = format; }

  [[nodiscard]] DType at(std::int64_t layer, Part part) const;
  [[nodiscard]] DType lm_head() const { return lm_head_; }
  [[nodiscard]] std::int64_t num_layers() const {
    return static_cast<std::int64_t>(formats_.size() / kNumParts);
  }

 private:
  [[nodiscard]] std::optional<bool> matches_part(std::string_view pattern,
                                                 std::int64_t layer,
                                                 Part part) const;
  bool set_matching_in(std::string_view pattern, std::int64_t layer, DType format);
  void set(std::int64_t layer, Part part, DType format);

  std::vector<DType> formats_;
  DType lm_head_;
  int numbered_expressions_ = 0;
  bool experts_apart_ = false;
};

/// Fills the table from a quantization_config, and gives the KV cache's format where it says one.
std::optional<DType> read_quantisation(ConfigReader& config,
                                       const document::Node& node,
                                       DType base,
                                       FormatTable& table);

}  // namespace ridgeline::model
