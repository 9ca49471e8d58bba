#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

/// The instances of a record's `cluster`: how many, of which parallel sizes, and prefill and decode
/// apart.
namespace ridgeline::records {

/// As many as a cluster has at most.
inline constexpr std::int64_t kMostRecordInstances = 4096;

/// Instances that are alike, each of so many data-parallel ranks.
struct RecordInstances {
  std::int64_t instances = 1;
  std::int64_t tensor_parallel = 1;
  std::int64_t data_parallel = 1;
  std::int64_t expert_parallel = 1;

  /// In a fleet each data-parallel rank is an instance.
  [[nodiscard]] std::int64_t ranks() const { return instances * data_parallel; }
};

/// So many of the record's own parallel sizes.
[[nodiscard]] RecordInstances instances_of(std::int64_t instances, const Evidence& evidence);

/// A whole number of a map; nothing where it is missing or no number from 1 to `most`, with a line
/// in `evidence.problem` that names `path`.
[[nodiscard]] std::optional<std::int64_t> whole_number_of(const document::Node& map,
                                                          std::string_view key,
                                                          std::string_view path,
                                                          std::int64_t most,
                                                          Evidence& evidence);

/// Notes where the GPUs of all instances are not as many as the record has.
void check_gpus(std::span<const RecordInstances> all, Evidence& evidence);

/// Reads a `cluster` whose `prefill` and `decode` are instances of their own.
void read_apart(const document::Node& cluster, Evidence& evidence);

}  // namespace ridgeline::records
