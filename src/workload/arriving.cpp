#include "workload/arriving.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/arrivals.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

class Arriving final : public WrappedStream {
 public:
  Arriving(std::unique_ptr<ItemStream> stream, const Arrivals& arrivals, std::uint64_t seed)
      : WrappedStream(std::move(stream)), times_(arrivals, seed, 0) {}
  bool next(Item& item) override {
    if (!past_.empty() || !inner().next(item)) {
      return false;
    }
    if (item.starts_group) {
      own_start_ = item.arrival;
      if (!times_.step()) {
        past_ = {{.field = "workload.request_rate",
                  .message = "requests pass the range of simulated time at this rate"}};
        return false;
      }
    }
    const core::Duration start = times_.time().since_start();
    const core::Duration after = std::max(item.arrival - own_start_, core::Duration());
    item.arrival = after > kLatestArrival - start ? kLatestArrival : start + after;
    return true;
  }
  [[nodiscard]] const core::Errors& errors() const override {
    return past_.empty() ? inner().errors() : past_;
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  ArrivalTimes times_;
  core::Duration own_start_;
  core::Errors past_;
};

}  // namespace

std::unique_ptr<ItemStream> arriving(std::unique_ptr<ItemStream> stream,
                                     const Arrivals& arrivals,
                                     std::uint64_t seed) {
  return std::make_unique<Arriving>(std::move(stream), arrivals, seed);
}

}  // namespace ridgeline::workload
