#include "sim/step_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::sim {
namespace {

/// Sum of a quantity over steps in which it grows evenly from `first` to `last`.
double summed(double first, double last, std::int64_t steps) {
  return static_cast<double>(steps) * (first + last) / 2.0;
}

/// Makes the parts of a first step those of all steps, up to the last.
void sum_up(std::vector<latency::OperatorTime>& parts,
            const std::vector<latency::OperatorTime>& last,
            std::int64_t steps) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    latency::OperatorTime& part = parts[i];
    const latency::OperatorTime& end = last[i];
    const auto sum = [steps](auto& first, const auto& final) {
      first = std::remove_reference_t<decltype(first)>(summed(first.value(), final.value(), steps));
    };
    sum(part.time, end.time);
    sum(part.bytes, end.bytes);
    sum(part.flops, end.flops);
    sum(part.weights, end.weights);
    sum(part.kv, end.kv);
    for (const auto side : {&latency::OperatorTime::compute, &latency::OperatorTime::memory}) {
      if (part.*side && end.*side) {
        sum(*(part.*side), *(end.*side));
      }
    }
    part.calls *= steps;
  }
}

bool have_same_names(const std::vector<latency::OperatorTime>& a,
                     const std::vector<latency::OperatorTime>& b) {
  return std::ranges::equal(a, b, {}, &latency::OperatorTime::name, &latency::OperatorTime::name);
}

void add_host(core::Duration exposed, StepSegment& segment) {
  if (exposed == core::Duration()) {
    return;
  }
  segment.parts.push_back({.name = "host",
                           .phase = "step",
                           .shape = {},
                           .calls = segment.record.steps,
                           .flops = {},
                           .bytes = {},
                           .time = core::Seconds(exposed.to_seconds()),
                           .bottleneck = domain::Bottleneck::kOverhead,
                           .source = "engine",
                           .distance = {}});
}

}  // namespace

domain::StepTime StepWatch::predict(const domain::StepBatch& batch) const {
  num_decodes_ = batch.num_decodes;
  context_ = batch.decode_context;
  shared_ = batch.shared_context;
  lengths_.assign(batch.decode_lengths.begin(), batch.decode_lengths.end());
  prefills_.assign(batch.prefills.begin(), batch.prefills.end());
  return model_.predict(batch);
}

StepSegment StepWatch::segment(const domain::StepRecord& record) const {
  StepSegment segment;
  segment.record = record;
  const std::int64_t steps = record.steps;
  segment.busy = record.period * steps + record.period_growth * (steps * (steps - 1) / 2);
  core::Duration gpu;
  if (steps == 1 && record.num_decodes == num_decodes_ && record.decode_context == context_ &&
      record.shared_context == shared_ && record.num_prefills == std::ssize(prefills_)) {
    const domain::StepBatch batch{.num_decodes = num_decodes_,
                                  .decode_context = context_,
                                  .shared_context = shared_,
                                  .decode_lengths = lengths_,
                                  .prefills = prefills_};
    const latency::Explanation explanation = model_.explain(batch);
    segment.prefills = prefills_;
    segment.parts = explanation.parts;
    segment.hidden = explanation.hidden;
    gpu = explanation.total.gpu();
  } else {
    RIDGELINE_CHECK(record.num_prefills == 0, "only decodes are advanced in closed form");
    const domain::StepBatch first{.num_decodes = record.num_decodes,
                                  .decode_context = record.decode_context,
                                  .shared_context = record.shared_context,
                                  .decode_lengths = {},
                                  .prefills = {}};
    domain::StepBatch last = first;
    last.decode_context += core::Tokens(record.num_decodes * (steps - 1));
    latency::Explanation from = model_.explain(first);
    const latency::Explanation to = model_.explain(last);
    sum_up(from.parts, to.parts, steps);
    if (have_same_names(from.hidden, to.hidden)) {
      sum_up(from.hidden, to.hidden, steps);
      segment.hidden = std::move(from.hidden);
    }
    segment.parts = std::move(from.parts);
    gpu = from.total.gpu() * steps + record.gpu_growth * (steps * (steps - 1) / 2);
  }
  if (segment.busy < gpu) {
    // A step of a pipeline: others were in other stages meanwhile.
    const double share = segment.busy.to_seconds() / gpu.to_seconds();
    for (std::vector<latency::OperatorTime>* side : {&segment.parts, &segment.hidden}) {
      for (latency::OperatorTime& part : *side) {
        part.time = part.time * share;
        part.compute = part.compute ? std::optional(*part.compute * share) : std::nullopt;
        part.memory = part.memory ? std::optional(*part.memory * share) : std::nullopt;
      }
    }
    gpu = segment.busy;
  }
  add_host(segment.busy - gpu, segment);
  core::Seconds sum;
  for (const latency::OperatorTime& part : segment.parts) {
    sum += part.time;
  }
  segment.rounding = core::Seconds(segment.busy.to_seconds()) - sum;
  return segment;
}

}  // namespace ridgeline::sim
