#include "engine/tensorrt_llm/capacity.hpp"

#include "core/check.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

CapacityScheduler capacity_scheduler(CapacityPolicy policy) {
  switch (policy) {
    case CapacityPolicy::kGuaranteedNoEvict:
      return guaranteed_no_evict;
    case CapacityPolicy::kMaxUtilization:
      return max_utilization;
    case CapacityPolicy::kStaticBatch:
      return static_batch;
  }
  RIDGELINE_CHECK(false, "a capacity policy of the list");
}

}  // namespace ridgeline::engine::tensorrt_llm
