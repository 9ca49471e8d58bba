#pragma once

#include <cstdint>
#include <optional>

#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

/// Draws which shared prefix a prompt begins with.
class PrefixSampler {
 public:
  /// `prefix` is sound (check_options).
  PrefixSampler(const SharedPrefix& prefix, std::uint64_t seed, std::uint64_t replication);

  /// The prefix as a segment. Prefix k (from 1, the most used one under Zipf's law) has content k.
  domain::Segment draw();

 private:
  core::RngStream rng_;
  core::Tokens length_;
  std::int64_t count_;
  std::optional<core::Zipf> zipf_;
};

}  // namespace ridgeline::workload
