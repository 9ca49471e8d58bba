#include <memory>
#include <utility>
#include <variant>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/closed_loop.hpp"
#include "workload/concurrency_limit.hpp"
#include "workload/open_loop.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

core::Result<std::unique_ptr<Source>> make_synthetic(const SyntheticOptions& options) {
  if (auto errors = check_options(options); !errors.empty()) {
    return core::fail(std::move(errors));
  }
  if (const auto* loop = std::get_if<ClosedLoop>(&options.arrivals)) {
    return std::make_unique<ClosedLoopSource>(options, *loop);
  }
  auto source = std::make_unique<OpenLoopSource>(options);
  if (options.max_concurrency) {
    const auto end =
        options.duration ? core::SimTime::at(*options.duration) : core::SimTime::never();
    return std::make_unique<ConcurrencyLimit>(std::move(source), *options.max_concurrency, end);
  }
  return source;
}

}  // namespace ridgeline::workload
