#include "workload/prefixes.hpp"

#include <cstdint>

#include "core/distributions.hpp"
#include "domain/request.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

PrefixSampler::PrefixSampler(const SharedPrefix& prefix,
                             std::uint64_t seed,
                             std::uint64_t replication)
    : rng_(seed, replication, "prefix"), length_(prefix.prefix_len), count_(prefix.num_prefixes) {
  if (prefix.choice == SharedPrefix::Choice::kZipf) {
    zipf_.emplace(count_, prefix.zipf_exponent);
  }
}

domain::Segment PrefixSampler::draw() {
  const std::int64_t number = zipf_ ? zipf_->draw(rng_) : core::uniform_integer(rng_, 1, count_);
  return {.content = static_cast<std::uint64_t>(number), .length = length_};
}

}  // namespace ridgeline::workload
