#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {

/// An inclusive range of allowed values.
template <class T>
struct Range {
  T lowest = std::numeric_limits<T>::lowest();
  T highest = std::numeric_limits<T>::max();
};

/// The candidate that a word of 4 letters begins; else the nearest by edit distance, if any.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// Reads one map of a document, key by key, and collects every problem instead of stopping at the
/// first: wrong kinds, values out of range, duplicate keys, and (in finish) keys that were
/// not asked for, with the nearest name that was.
///
///   ObjectReader reader(node, "engine", errors);
///   const auto seqs = reader.integer("max_num_seqs", {1, 65536}).value_or(256);
///   reader.finish();
class ObjectReader {
 public:
  enum class Unknown { kRefuse, kIgnore };

  /// `path` is the dotted name of this map, empty at the top. A node that is not a map is itself a
  /// problem.
  ObjectReader(const Node& node,
               std::string path,
               core::Errors& errors,
               Unknown unknown = Unknown::kRefuse);

  /// Each returns nothing when the key is absent or null, and also when its value is a problem
  /// (then noted).
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, Range<std::int64_t> range = {});
  std::optional<double> real(std::string_view key, Range<double> range = {});
  std::optional<std::string> string(std::string_view key);
  std::optional<std::string> choice(std::string_view key, std::span<const std::string> choices);
  std::optional<std::vector<std::int64_t>> integers(std::string_view key,
                                                    Range<std::int64_t> range = {});
  std::optional<std::vector<double>> reals(std::string_view key, Range<double> range = {});
  /// A number with a unit of the given kind ("80GiB", "3.35TB/s", "250ms", "989TFLOP/s"), in the
  /// base unit (bytes, bytes per second, seconds, FLOP per second). A bare number is a problem.
  std::optional<double> quantity(std::string_view key, std::string_view unit_kind);
  /// The raw value, for maps and lists with a reader of their own.
  const Node* node(std::string_view key);

  /// As above, but an absent key is a problem too (noted as missing; the result is then a default
  /// value).
  std::int64_t required_integer(std::string_view key, Range<std::int64_t> range = {});
  double required_real(std::string_view key, Range<double> range = {});
  std::string required_string(std::string_view key);
  double required_quantity(std::string_view key, std::string_view unit_kind);

  /// Notes a problem at a key of this map.
  void problem(std::string_view key, std::string message, std::string hint = {});
  /// Notes the keys that were never asked for. Call once, last.
  void finish();

  [[nodiscard]] std::string path_of(std::string_view key) const;

 private:
  const Node* take(std::string_view key);
  /// As take(), and notes a missing key and what it should have held.
  const Node* take_required(std::string_view key, std::string_view what);
  template <class T>
  std::optional<T> number(std::string_view key, const Node* found, const Range<T>& range);
  std::optional<std::string> string(std::string_view key, const Node* found);
  std::optional<double> quantity(std::string_view key,
                                 const Node* found,
                                 std::string_view unit_kind);
  template <class T>
  std::optional<std::vector<T>> numbers(std::string_view key, const Range<T>& range);
  void note_duplicates();

  const Node* node_;
  std::string path_;
  core::Errors* errors_;
  Unknown unknown_;
  std::vector<std::string> asked_;
};

/// Parses "80GiB" and the like; `unit_kind` is "bytes", "bytes_per_second", "flops_per_second" or
/// "seconds".
core::Result<double> parse_quantity(std::string_view text, std::string_view unit_kind);

}  // namespace ridgeline::document
