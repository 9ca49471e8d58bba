#include <cstdint>

#include "core/rng.hpp"
#include "domain/request.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Rendezvous hashing: each pair of session and instance has a weight, the highest wins. An
/// instance more moves only the sessions that go to it. A request without a session is one by
/// itself.
class Session final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    const domain::RequestView& request = input.request;
    const std::uint64_t key =
        request.session.valid() ? request.session.value() : kAlone | request.id.value();
    const InstanceView* best = nullptr;
    std::uint64_t highest = 0;
    for (const InstanceView& view : input.instances) {
      const std::uint64_t weight = core::RngStream(key, view.id.value(), "session").next_u64();
      if (best == nullptr || weight > highest) {
        best = &view;
        highest = weight;
      }
    }
    return {.instance = best->id, .reason = Reason::kSession};
  }

 private:
  static constexpr std::uint64_t kAlone = std::uint64_t{1} << 32;  ///< Behind every session.
};

}  // namespace

extern const RouterEntry kSession{
    .name = "session",
    .summary = "the requests of a session stay with one instance",
    .source = "rendezvous hashing (Thaler, Ravishankar 1998)",
    .make = make_policy<Session>,
};

}  // namespace ridgeline::routing
