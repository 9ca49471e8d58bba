#include "latency/kernel/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/elementwise.hpp"
#include "latency/kernel/expert_gemm.hpp"
#include "latency/kernel/gemm.hpp"
#include "latency/kernel/sampling.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr core::Duration kLongestOperator = core::Duration::seconds(1000);
/// Longest time per token of context, over all layers: kMaxContext of them stay in range.
constexpr core::Duration kSteepest = core::Duration::microseconds(100);

/// Turns the operators of a forward pass into priced ones.
class Planner {
 public:
  Planner(const model::ModelSpec& network,
          const Calibration& calibration,
          const hardware::GpuSpec& gpu)
      : network_(network), calibration_(calibration), gpu_(gpu) {}

  Plan plan(const std::vector<model::Operator>& operators) && {
    quantises_ = std::any_of(
        operators.begin(), operators.end(), [&](const model::Operator& op) { return is_8bit(op); });
    for (const model::Operator& op : operators) {
      std::visit([&](const auto& shape) { add(op, shape); }, op.shape);
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool is_8bit(const model::Operator& op) const {
    if (const auto* gemm = std::get_if<model::Gemm>(&op.shape)) {
      return matmul_format(gemm->weights, gpu_).is_8bit;
    }
    const auto* experts = std::get_if<model::ExpertGemm>(&op.shape);
    return experts != nullptr && matmul_format(experts->weights, gpu_).is_8bit;
  }

  RowOperator& push(const model::Operator& op,
                    std::string source,
                    std::function<Cost(std::int64_t)> cost) {
    plan_.rows.push_back({.name = op.name,
                          .calls = op.calls,
                          .rows = model::Rows::kTokens,
                          .source = std::move(source),
                          .cost = std::move(cost),
                          .shape = {}});
    return plan_.rows.back();
  }

  void add(const model::Operator& op, const model::Gemm& shape) {
    // The expert kernels were measured with their routing, so the router is priced there.
    if (op.name == "router") {
      return;
    }
    const MatmulFormat format = matmul_format(shape.weights, gpu_);
    const auto& set = calibration_.gemm(format.is_8bit);
    RowOperator& row = push(
        op, set.source, [shape, format, &constants = set.values, &gpu = gpu_](std::int64_t rows) {
          return gemm({.m = rows, .k = shape.k, .n = shape.n}, format, constants, gpu);
        });
    row.rows = shape.rows;
    row.shape = [shape](std::int64_t rows) {
      return fmt::format("{}x{}x{}", rows, shape.k, shape.n);
    };
  }

  void add(const model::Operator& op, const model::ExpertGemm& shape) {
    const MatmulFormat format = matmul_format(shape.weights, gpu_);
    const auto& set = calibration_.experts(format.is_8bit, shape.experts);
    RowOperator& row = push(
        op,
        set.source,
        [shape, format, &constants = set.values, &step = calibration_.step, &gpu = gpu_](
            std::int64_t rows) {
          return expert_gemm(shape, rows, format, constants, step.streamed_expert_fraction, gpu);
        });
    row.shape = [shape](std::int64_t rows) {
      return fmt::format("{}x{}x{}, {} of {} experts",
                         rows,
                         shape.hidden,
                         shape.width,
                         shape.experts_per_token,
                         shape.experts);
    };
  }

  void add(const model::Operator& op, const model::AllReduce& shape) {
    if (shape.ranks < 2) {
      return;
    }
    const auto& set = calibration_.all_reduce;
    RowOperator& row =
        push(op,
             set.source,
             [shape, &constants = set.values, &common = calibration_.exchange, &gpu = gpu_](
                 std::int64_t rows) {
               constexpr double kBytesPer16Bit = 2.0;
               const core::Bytes message(kBytesPer16Bit * real(rows) * real(shape.width));
               return all_reduce(message, shape.ranks, constants, common, gpu);
             });
    row.rows = shape.rows;
    row.shape = [shape](std::int64_t rows) {
      return fmt::format("{}x{} over {} ranks", rows, shape.width, shape.ranks);
    };
  }

  void add(const model::Operator& op, model::LayerElementwise shape) {
    // Where the GPU expands 8-bit weights to 16 bit, nothing is quantised.
    shape.quantised_activations = shape.quantised_activations && quantises_;
    const StepConstants& step = calibration_.step;
    RowOperator& row = push(op, "kernel", [shape, &step, &gpu = gpu_](std::int64_t rows) {
      return elementwise(shape, rows, step, gpu);
    });
    row.shape = [shape](std::int64_t rows) { return fmt::format("{}x{}", rows, shape.hidden); };
    RowOperator& gaps = push(op, "kernel", [&step](std::int64_t /*rows*/) {
      return Cost{.time = step.layer_launch_gap,
                  .flops = {},
                  .bytes = {},
                  .kind = domain::Bottleneck::kOverhead,
                  .losing = {}};
    });
    gaps.name = "launch_gaps";
    gaps.shape = [](std::int64_t /*rows*/) { return std::string(); };
  }

  void add(const model::Operator& op, const model::Sampling& shape) {
    const SamplingShape what{.vocab = shape.vocab,
                             .truncates = network_.sampling.truncates(),
                             .penalises = network_.sampling.penalises()};
    RowOperator& row = push(
        op, "kernel", [what, &constants = calibration_.sampling, &gpu = gpu_](std::int64_t rows) {
          return sampling(what, rows, constants, gpu);
        });
    row.rows = model::Rows::kSampled;
    row.shape = [what](std::int64_t rows) {
      return fmt::format("{}x{}{}{}",
                         rows,
                         what.vocab,
                         what.truncates ? ", top-p or top-k" : "",
                         what.penalises ? ", penalties" : "");
    };
  }

  void add(const model::Operator& op, const model::Attention& shape) {
    DecodeLine line = decode_line(shape, calibration_.decode_attention.values, gpu_);
    const core::Duration floor = all_calls(line.floor, op.calls);
    const core::Duration slope = std::min(all_calls(line.per_context_token, op.calls), kSteepest);
    line.fixed = line.fixed * real(op.calls);
    line.per_sequence = line.per_sequence * real(op.calls);
    line.per_token = line.per_token * real(op.calls);
    plan_.attention.push_back({.name = op.name,
                               .calls = op.calls,
                               .position = plan_.rows.size(),
                               .shape = shape,
                               .fixed = line.fixed,
                               .per_sequence = line.per_sequence,
                               .per_token = line.per_token,
                               .kind = line.kind,
                               .fixed_floor = floor,
                               .floor_per_sequence = line.floor_per_sequence * real(op.calls),
                               .per_context_token = slope});
  }

  // Norms run inside LayerElementwise, and the embedding lookup is one row per token of a network's
  // worth of them: neither has a time of its own.
  void add(const model::Operator& /*op*/, const model::Norm& /*shape*/) {}
  void add(const model::Operator& /*op*/, const model::Embedding& /*shape*/) {}

  const model::ModelSpec& network_;
  const Calibration& calibration_;
  const hardware::GpuSpec& gpu_;
  bool quantises_ = false;
  Plan plan_;
};

}  // namespace

core::Duration all_calls(core::Seconds one_call, std::int64_t calls) {
  return std::min(core::Duration::saturating(one_call * real(calls)), kLongestOperator);
}

core::Duration AttentionOperator::floor(std::int64_t sequences) const {
  return std::min(fixed_floor + all_calls(floor_per_sequence * real(sequences), 1),
                  kLongestOperator);
}

core::Duration AttentionOperator::base(std::int64_t sequences, std::int64_t tokens) const {
  return all_calls(fixed + per_sequence * real(sequences) + per_token * real(tokens), 1);
}

core::Duration AttentionOperator::decode(const DecodeCall& call) const {
  const std::int64_t context = std::min(call.context, kMaxContext);
  return std::max(floor(call.sequences),
                  base(call.sequences, call.tokens) + per_context_token * context);
}

std::int64_t AttentionOperator::crossing(core::Duration floor, core::Duration base) const {
  const std::int64_t missing = (floor - base).count();
  if (missing <= 0) {
    return 0;
  }
  const std::int64_t slope = per_context_token.count();
  return slope == 0 ? kMaxContext + 1 : (missing + slope - 1) / slope;
}

Plan make_plan(const model::ModelSpec& network,
               const model::Sharding& sharding,
               const Calibration& calibration,
               const hardware::GpuSpec& gpu) {
  return Planner(network, calibration, gpu).plan(model::forward_pass(network, sharding));
}

}  // namespace ridgeline::latency::kernel
