#include <memory>
#include <utility>
#include <variant>

#include "core/result.hpp"
#include "workload/closed_loop.hpp"
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
  return std::make_unique<OpenLoopSource>(options);
}

}  // namespace ridgeline::workload
