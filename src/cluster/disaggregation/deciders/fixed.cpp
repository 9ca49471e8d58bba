// Deciders that look at nothing.
#include <memory>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"

namespace ridgeline::disaggregation {
namespace {

class Fixed final : public Decider {
 public:
  explicit Fixed(bool disaggregates) : disaggregates_(disaggregates) {}
  [[nodiscard]] bool disaggregates(const Prompt& /*prompt*/) const override {
    return disaggregates_;
  }

 private:
  bool disaggregates_;
};

}  // namespace

std::unique_ptr<Decider> make_never(const DeciderParameters& /*parameters*/) {
  return std::make_unique<Fixed>(false);
}

std::unique_ptr<Decider> make_always(const DeciderParameters& /*parameters*/) {
  return std::make_unique<Fixed>(true);
}

}  // namespace ridgeline::disaggregation
