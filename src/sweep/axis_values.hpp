#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"

namespace ridgeline::sweep {

/// Values that one axis may have (ours: ten times the longest axis that a table of results or a
/// picture can still show).
inline constexpr std::size_t kMostValues = 100'000;

/// What is derived for a point from its network and its GPU.
enum class Derived {
  kNothing,  ///< The values are those stated.
  /// Powers of two up to the GPUs of a node, where the network's heads and widths divide.
  kTensorParallelSize,
  kExpertParallel,  ///< Off, and on where the network has experts.
};

/// One key that is varied, and what it takes.
struct Axis {
  std::string path;                     ///< "engine.max_num_seqs"
  std::vector<document::Node> values;   ///< As stated, no two alike; null leaves the key unset.
  Derived derived = Derived::kNothing;  ///< For `auto`: `values` are then all that may come out.
  core::Location where = {};
};

/// Reads what stands at the key of an axis: a list, one value, `{from, to, factor}`,
/// `{from, to, step}` or `auto`. `option` is the setting that the key names, or nullptr for a key
/// whose values the caller checks. Problems are noted in `errors`, then nothing comes back: a range
/// without step and factor, one that does not end, a value that the setting refuses, a value twice.
[[nodiscard]] std::optional<Axis> read_axis(const std::string& path,
                                            const scenario::Option* option,
                                            const document::Node& node,
                                            core::Errors& errors);

/// Whether two stated values are the same: numbers by value, everything else as it is written.
[[nodiscard]] bool same_value(const document::Node& left, const document::Node& right);

}  // namespace ridgeline::sweep
