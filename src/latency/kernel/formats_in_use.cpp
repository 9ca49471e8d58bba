#include "latency/kernel/formats_in_use.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

std::vector<FormatPeak> formats_in_use(const model::ModelSpec& network,
                                       const hardware::GpuSpec& gpu) {
  std::vector<FormatPeak> found = {{.format = "bf16", .peak = gpu.peak_bf16}};
  const auto add = [&](model::DType weights) {
    const MatmulFormat format = matmul_format(weights, gpu);
    if (std::ranges::find(found, format.products, &FormatPeak::format) == found.end()) {
      found.push_back({.format = format.products, .peak = format.peak});
    }
  };
  for (const model::Operator& op : model::forward_pass(network, {})) {
    if (const auto* gemm = std::get_if<model::Gemm>(&op.shape)) {
      add(gemm->weights);
    } else if (const auto* experts = std::get_if<model::ExpertGemm>(&op.shape)) {
      add(experts->weights);
    }
  }
  std::ranges::stable_sort(found, {}, &FormatPeak::peak);
  return found;
}

}  // namespace ridgeline::latency::kernel
