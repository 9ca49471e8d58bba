#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/line_cost.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "latency/step_time_model.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// What an OperatorTime says besides the cost.
struct Label {
  std::string name;
  const char* phase;
  std::string shape;
  std::int64_t calls;
  std::string source;
};

void append(const Label& label, const Cost& cost, Explanation& into, bool attention = false) {
  const auto calls = static_cast<double>(label.calls);
  OperatorTime part{.name = label.name,
                    .phase = label.phase,
                    .shape = label.shape,
                    .calls = label.calls,
                    .flops = cost.flops * calls,
                    .bytes = cost.bytes * calls,
                    .time = cost.time * calls,
                    .bottleneck = cost.kind,
                    .source = label.source,
                    .distance = std::nullopt,
                    .padding = cost.padding * calls,
                    .weights = cost.weights * calls};
  const auto side = [&](domain::Bottleneck kind, std::optional<core::Seconds> own) {
    const auto time = own                                        ? own
                      : cost.losing && cost.losing->kind == kind ? std::optional(cost.losing->time)
                      : cost.losing && cost.kind == kind         ? std::optional(cost.time)
                                                                 : std::nullopt;
    return time ? std::optional(*time * calls) : std::nullopt;
  };
  part.compute = side(domain::Bottleneck::kCompute, cost.compute);
  part.memory = side(domain::Bottleneck::kMemory, cost.memory);
  if (cost.losing) {
    OperatorTime losing = part;
    losing.time = cost.losing->time * calls;
    losing.bottleneck = cost.losing->kind;
    into.hidden.push_back(std::move(losing));
  }
  part.kv = attention ? part.bytes : core::Bytes();
  into.parts.push_back(std::move(part));
}

}  // namespace

void KernelModel::explain_rows(const RowOperator& op, const Work& work, Explanation& into) const {
  const std::int64_t rows = op.rows == model::Rows::kTokens ? padded(work.tokens) : work.sampled;
  if (rows > 0) {
    append({.name = op.name,
            .phase = "step",
            .shape = op.shape(rows),
            .calls = op.calls,
            .source = op.source},
           op.cost(rows),
           into);
  }
}

void KernelModel::explain_attention(const AttentionOperator& op,
                                    const Work& work,
                                    Explanation& into) const {
  if (work.prefill.chunks > 0) {
    const PrefillCall call = prefill_of(op, work);
    append({.name = op.name,
            .phase = "prefill",
            .shape = fmt::format("{} {}, {} new tokens, {} KV tokens",
                                 call.chunks,
                                 core::plural("chunk", call.chunks),
                                 call.new_tokens,
                                 call.kv_tokens),
            .calls = op.calls,
            .source = op.prefill_source},
           prefill_cost(op, call, work),
           into,
           true);
  }
  if (work.decode.sequences > 0) {
    const DecodeCall call = within_window(work.decode, op.window);
    Cost cost = op.decode_cost(call);
    if (op.measured != nullptr) {
      cost.time = core::Seconds(op.decode(work.decode).to_seconds()) / real(op.calls);
      cost.losing.reset();
    }
    append({.name = op.name,
            .phase = "decode",
            .shape = fmt::format("{} {}, {} new {}, {} KV tokens",
                                 call.sequences,
                                 core::plural("sequence", call.sequences),
                                 call.tokens,
                                 core::plural("token", call.tokens),
                                 call.context + call.tokens),
            .calls = op.calls,
            .source = op.decode_source},
           cost,
           into,
           true);
  }
}

Explanation KernelModel::explain(const domain::StepBatch& batch) const {
  Explanation result;
  result.total = predict(batch);
  const Work work = work_of(batch);
  if (work.tokens == 0) {
    return result;
  }
  for (std::size_t i = 0; i <= plan_.rows.size(); ++i) {
    for (const AttentionOperator& op : plan_.attention) {
      if (op.position == i) {
        explain_attention(op, work, result);
      }
    }
    if (i < plan_.rows.size()) {
      explain_rows(plan_.rows[i], work, result);
    }
  }
  append({.name = "step_gap", .phase = "step", .shape = {}, .calls = 1, .source = "kernel"},
         {.time = calibration_.step.step_gap,
          .flops = {},
          .bytes = {},
          .kind = domain::Bottleneck::kOverhead,
          .losing = {}},
         result);
  if (const core::Duration gap = launch_gap(batch); gap > core::Duration()) {
    append({.name = is_piecewise(batch) ? "piecewise_gaps" : "uncaptured_gaps",
            .phase = "step",
            .shape = {},
            .calls = 1,
            .source = "kernel"},
           {.time = core::Seconds(gap.to_seconds()),
            .flops = {},
            .bytes = {},
            .kind = domain::Bottleneck::kOverhead,
            .losing = {}},
           result);
  }
  settle_rounding(result);
  return result;
}

}  // namespace ridgeline::latency::kernel
