#include "cluster/admission/token_bucket.hpp"

#include <memory>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "cluster/admission/settings.hpp"
#include "core/rng.hpp"

namespace ridgeline::admission {
namespace {

/// Prompt tokens from a bucket that refills.
class Bucket final : public Admission {
 public:
  explicit Bucket(const Settings& settings)
      : bucket_(settings.token_bucket_capacity, settings.token_bucket_refill_rate) {}

  [[nodiscard]] Decision decide(const AdmissionInput& input,
                                double /*saturation*/,
                                core::RngStream& /*draws*/) override {
    const auto cost = static_cast<double>(input.claim.prompt_tokens.value());
    return bucket_.take(cost, input.now) ? Decision::admit()
                                         : Decision::reject(Reason::kTokenBucket);
  }

 private:
  TokenBucket bucket_;
};

}  // namespace

std::unique_ptr<Admission> make_token_bucket(const Settings& settings) {
  return std::make_unique<Bucket>(settings);
}

}  // namespace ridgeline::admission
