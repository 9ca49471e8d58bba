#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission {

/// A request as admission sees it. Its output length is not part of it.
struct Claim {
  core::RequestId request;
  domain::TenantId tenant;
  double share = 1.0;         ///< The tenant's.
  std::int64_t priority = 0;  ///< Higher is better; below zero the request may be shed.
  core::Tokens prompt_tokens = {};
  core::SimTime arrival = {};
  core::SimTime slo_deadline = core::SimTime::never();  ///< By the tenant's target of TTFT.
  core::SimTime expires = core::SimTime::never();       ///< In a queue of the gateway.
};

/// Why a request was not served.
enum class Reason : std::uint8_t {
  kSaturated,      ///< Its priority is below zero and the instances are saturated.
  kShed,           ///< Its priority is below zero, and a draw by the saturation refused it.
  kTokenBucket,    ///< The bucket holds less than its prompt.
  kRateLimit,      ///< Its tenant has had its requests or tokens of the minute.
  kQueueFull,      ///< The queue of its band holds all it may.
  kExpired,        ///< It waited its time in the queue.
  kNoEndpoint,     ///< No instance is ready.
  kPredictedLate,  ///< Its priority is below zero, and it would miss its targets everywhere.
};
inline constexpr std::size_t kNumReasons = 8;
/// What results call them.
inline constexpr std::array<const char*, kNumReasons> kReasonNames = {"saturated",
                                                                      "shed",
                                                                      "token_bucket",
                                                                      "rate_limit",
                                                                      "queue_full",
                                                                      "expired",
                                                                      "no_endpoint",
                                                                      "predicted_late"};

struct Decision {
  enum class Verdict : std::uint8_t { kAdmit, kReject, kQueue };
  /// Where a request waits: one band per priority, in it one flow per tenant.
  struct Place {
    std::int64_t band = 0;
    domain::TenantId flow = {};
  };

  Verdict verdict = Verdict::kAdmit;
  std::optional<Reason> why = {};   ///< For kReject.
  std::optional<Place> place = {};  ///< For kQueue.

  static Decision admit() { return {}; }
  static Decision reject(Reason why) { return {.verdict = Verdict::kReject, .why = why}; }
  static Decision queue(const Claim& claim) {
    return {.verdict = Verdict::kQueue,
            .place = Place{.band = claim.priority, .flow = claim.tenant}};
  }
};

/// One decision to make.
struct AdmissionInput {
  const Claim& claim;
  std::span<const routing::InstanceView> instances;  ///< The ready ones.
  core::SimTime now;
  /// By how much it would meet its targets at each of them; empty where it has no targets.
  std::span<const routing::Headroom> headroom = {};
};

/// Decides whether a request is let in. May remember its own decisions; knows nothing else but what
/// it is handed.
class Admission {
 public:
  Admission() = default;
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  virtual ~Admission() = default;

  /// Whether decide() reads the saturation, which a detector then measures.
  [[nodiscard]] virtual bool needs_saturation() const { return false; }
  /// Whether decide() reads AdmissionInput::headroom, which the routing policy then predicts.
  [[nodiscard]] virtual bool needs_headroom() const { return false; }
  /// Draws, where it must, from `draws`, a stream of this decision alone.
  [[nodiscard]] virtual Decision decide(const AdmissionInput& input,
                                        double saturation,
                                        core::RngStream& draws) = 0;
};

}  // namespace ridgeline::admission
