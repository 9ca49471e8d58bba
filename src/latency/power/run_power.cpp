#include "latency/power/run_power.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/math.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/power/power_law.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency {
namespace {

/// One step's work on one GPU.
struct Work {
  double flops = 0.0;
  double bytes = 0.0;
  double seconds = 0.0;

  friend Work operator*(double factor, const Work& work) {
    return {factor * work.flops, factor * work.bytes, factor * work.seconds};
  }
  friend Work operator+(const Work& a, const Work& b) {
    return {a.flops + b.flops, a.bytes + b.bytes, a.seconds + b.seconds};
  }
};

/// Prompts take no more of the steps' time than this: what is left has to hold the decodes.
constexpr double kMostPrefill = 0.98;

Work work_of(const StepTimeModel& model,
             const Execution& execution,
             const domain::StepBatch& batch) {
  const Explanation step = model.explain(batch);
  Work work{.seconds = step.total.gpu().to_seconds()};
  for (const OperatorTime& part : step.parts) {
    if (part.bottleneck != domain::Bottleneck::kNetwork) {  // Its bytes are messages.
      work.flops += part.flops.value() + part.padding.value();
      work.bytes += part.bytes.value();
    }
  }
  // Each stage's GPU does its part, while the time is that of all.
  const double part = 1.0 / core::real(execution.sharding.pipeline_parallel_size);
  return {part * work.flops, part * work.bytes, work.seconds};
}

Work work_of(const StepTimeModel& model,
             const Execution& execution,
             std::int64_t decodes,
             core::Tokens context,
             core::Tokens prompt) {
  const domain::PrefillChunk chunk{.past = {}, .new_tokens = prompt, .samples = true};
  domain::StepBatch batch;
  batch.num_decodes = decodes;
  batch.decode_context = context * decodes;
  if (prompt > core::Tokens(0)) {
    batch.prefills = {&chunk, 1};
  }
  return decodes == 0 && batch.prefills.empty() ? Work{} : work_of(model, execution, batch);
}

/// That of the law, which knows no cap.
double uncapped_peak(const hardware::GpuSpec& gpu) {
  const double held = gpu.power_cap > 0.0 ? gpu.power_cap / gpu.power_watts : 1.0;
  return gpu.peak_bf16.value() / held;
}

/// Kernels run for `seconds` of the work's time at most; for the rest of it the GPU waits.
Watts power_of(const hardware::GpuSpec& gpu, const Work& work, double seconds) {
  const double running = std::min(seconds, work.seconds);
  if (!(running > 0.0)) {
    return {};
  }
  const auto share = [&](double amount, double rate) {
    return std::min(1.0, amount / (rate * running));
  };
  const Watts watts = working_power(gpu,
                                    {.bandwidth = share(work.bytes, gpu.mem_bandwidth.value()),
                                     .compute = share(work.flops, uncapped_peak(gpu))});
  const double part = running / work.seconds;
  const auto with_waits = [&](double while_running) {
    return part * while_running + (1.0 - part) * idle_power(gpu);
  };
  return {.expected = with_waits(watts.expected),
          .low = with_waits(watts.low),
          .high = with_waits(watts.high)};
}

}  // namespace

std::optional<RunPower> run_power(const StepTimeModel& model,
                                  const Execution& execution,
                                  const hardware::GpuSpec& gpu,
                                  const MeanSteps& mean) {
  if (gpu.power_watts <= 0.0 || mean.steps == 0 || mean.prompts == 0 ||
      !(mean.busy.value() > 0.0) || model.needs_decode_lengths()) {
    return std::nullopt;
  }
  const auto step_of = [&](core::Tokens prompt) {
    const double fewer = std::floor(mean.decodes);
    const double rest = mean.decodes - fewer;
    const auto few = static_cast<std::int64_t>(fewer);
    const auto work = [&](std::int64_t decodes) {
      return work_of(model, execution, decodes, mean.decode_context, prompt);
    };
    return rest > 0.0 ? (1.0 - rest) * work(few) + rest * work(few + 1) : work(few);
  };
  const Work plain = core::real(mean.steps) * step_of({});
  const Work with_prompt = core::real(mean.prompts) * (step_of(mean.prompt) + -1.0 * step_of({}));
  const double busy = mean.busy.value();
  const Work prefill{with_prompt.flops,
                     with_prompt.bytes,
                     std::clamp(with_prompt.seconds, 0.0, kMostPrefill * busy)};
  const Work decode{plain.flops, plain.bytes, busy - prefill.seconds};
  if (plain.bytes + with_prompt.bytes <= 0.0) {
    return std::nullopt;
  }
  const Watts of_decode = power_of(gpu, decode, plain.seconds);
  const bool has_prefill = prefill.seconds > 0.0;
  const Watts of_prefill = has_prefill ? power_of(gpu, prefill, prefill.seconds) : Watts{};
  const auto weighted = [&](double Watts::* which) {
    return (decode.seconds * of_decode.*which + prefill.seconds * of_prefill.*which) / busy;
  };
  RunPower power{.working = {.expected = weighted(&Watts::expected),
                             .low = weighted(&Watts::low),
                             .high = weighted(&Watts::high)}};
  if (mean.decodes > 0.0) {
    power.decode = of_decode.expected;
  }
  if (has_prefill) {
    power.prefill = of_prefill.expected;
  }
  return power;
}

}  // namespace ridgeline::latency
