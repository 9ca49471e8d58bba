#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::roofline {
namespace {

constexpr double kMicrosecond = 1e-6;

/// Which side of a roofline a part is on, and whether the step pays for it.
struct Place {
  const char* phase;
  double share;  ///< Share of the phase in the step; 0 where another phase's time hides it.
  bool wins;
};

class Explainer {
 public:
  Explainer(const RooflineModel& model, const domain::StepBatch& batch, const StepCost& cost)
      : model_(model), batch_(batch), cost_(cost), ridge_(model.configuration().ridge_point) {}

  Explanation run() {
    if (cost_.prefill.present) {
      phase(cost_.prefill, "prefill");
    }
    if (cost_.decode.present) {
      phase(cost_.decode, "decode");
    }
    if (cost_.joint.present) {
      phase(cost_.joint, "step");
    }
    constant("overhead", cost_.overhead_us, domain::Bottleneck::kOverhead);
    constant("shortest_step", cost_.waiting_us, domain::Bottleneck::kOverhead);
    constant("all_reduce", cost_.all_reduce_us, domain::Bottleneck::kNetwork);
    return std::move(out_);
  }

 private:
  void put(const Place& place, OperatorTime part) {
    part.phase = place.phase;
    if (place.wins && place.share > 0.0) {
      for (std::optional<core::Seconds>* side : {&part.compute, &part.memory}) {
        *side = *side ? std::optional(**side * place.share) : std::nullopt;
      }
      part.time = part.time * place.share;
      out_.parts.push_back(std::move(part));
    } else {
      out_.hidden.push_back(std::move(part));
    }
  }

  [[nodiscard]] domain::Bottleneck kind_of(const Work& work) const {
    return work.flops > work.bytes * ridge_ ? domain::Bottleneck::kCompute
                                            : domain::Bottleneck::kMemory;
  }

  [[nodiscard]] OperatorTime part(const char* name,
                                  double seconds,
                                  const Work& work,
                                  std::string source) const {
    return {.name = name,
            .phase = {},
            .shape = {},
            .calls = 1,
            .flops = core::Flops(work.flops),
            .bytes = core::Bytes(work.bytes),
            .time = core::Seconds(seconds),
            .bottleneck = kind_of(work),
            .source = std::move(source),
            .distance = std::nullopt};
  }

  void constant(const char* name, double us, domain::Bottleneck kind) {
    if (us <= 0.0) {
      return;
    }
    OperatorTime time = part(name, us * kMicrosecond, {}, "constants");
    time.phase = "step";
    time.bottleneck = kind;
    out_.parts.push_back(std::move(time));
  }

  void phase(const PhaseCost& cost, const char* name) {
    const bool memory = cost.memory_wins();
    compute_side(cost, {.phase = name, .share = cost.share, .wins = !memory});
    const Place other{.phase = name, .share = cost.share, .wins = memory};
    for (OperatorTime side :
         {part("weights", cost.weights, cost.gemm_work, "byte model"),
          part("kv_and_activations", cost.dynamic, cost.attention_work, "byte model")}) {
      side.bottleneck = domain::Bottleneck::kMemory;
      side.memory = side.time;
      put(other, std::move(side));
    }
  }

  void compute_side(const PhaseCost& cost, const Place& place) {
    const TableMfuRoofline* formulas = model_.table_formulas();
    const bool joint = &cost == &cost_.joint;
    if (formulas == nullptr || joint) {
      const char* source = joint ? "sum of both phases" : "constant MFU";
      for (OperatorTime side : {part("gemm", cost.gemm, cost.gemm_work, source),
                                part("attention", cost.attention, cost.attention_work, source)}) {
        side.compute = side.time;
        put(place, std::move(side));
      }
      return;
    }
    if (&cost == &cost_.decode) {
      decode_side(*formulas, place);
    } else {
      prefill_side(*formulas, place);
    }
  }

  [[nodiscard]] std::string table_source(const TableMfuRoofline& formulas,
                                         const std::string& (MfuSource::*path)() const,
                                         double mfu) const {
    if (!formulas.source().has_tables()) {
      return fmt::format("constant MFU {:.6g}", mfu);
    }
    const std::filesystem::path file((formulas.source().*path)());
    return fmt::format("{}, MFU {:.6g}", file.filename().string(), mfu);
  }

  static void add_lookup(const TableMfuRoofline& formulas,
                         const measured::Lookup& lookup,
                         OperatorTime& part) {
    constexpr std::size_t kFirstLine = 2;  // Behind the names of the columns.
    part.mfu = lookup.mfu;
    if (formulas.source().has_tables()) {
      part.distance = lookup.distance;
      part.row = lookup.row == measured::Lookup::kNoRow ? std::nullopt
                                                        : std::optional(lookup.row + kFirstLine);
    }
  }

  void gemm_parts(const TableMfuRoofline& formulas,
                  const GemmShape& shape,
                  std::int64_t rows,
                  bool prefill,
                  const Place& place) {
    const GemmTime time = formulas.gemm(shape, rows, prefill);
    OperatorTime gemm = part(shape.name.c_str(),
                             time.seconds,
                             time.work,
                             table_source(formulas, &MfuSource::gemm_path, time.lookup.mfu));
    gemm.shape = fmt::format("{}x{}x{}", rows, shape.k, shape.n);
    gemm.calls = shape.name == "lm_head" ? 1 : static_cast<std::int64_t>(formulas.layers());
    add_lookup(formulas, time.lookup, gemm);
    const auto k = static_cast<double>(shape.k);
    const auto n = static_cast<double>(shape.n);
    const auto m = static_cast<double>(rows);
    gemm.weights = gemm.bytes * (k * n / (k * n + m * k + m * n));
    gemm.compute = core::Seconds(time.by_mfu);
    if (time.by_bytes > 0.0) {
      gemm.memory = core::Seconds(time.by_bytes);
      const bool floored = time.by_bytes > time.by_mfu;
      OperatorTime losing = gemm;
      losing.time = core::Seconds(floored ? time.by_mfu : time.by_bytes);
      losing.source = floored ? gemm.source : "reading its weights";
      gemm.source = floored ? "reading its weights" : gemm.source;
      losing.phase = place.phase;
      out_.hidden.push_back(std::move(losing));
    }
    put(place, std::move(gemm));
  }

  void attention_part(const TableMfuRoofline& formulas,
                      const TableMfuRoofline::AttentionTime& time,
                      bool prefill,
                      std::string shape,
                      const Place& place) {
    const auto path = prefill ? &MfuSource::prefill_path : &MfuSource::decode_path;
    OperatorTime attention =
        part("attention", time.seconds, time.work, table_source(formulas, path, time.lookup.mfu));
    attention.shape = std::move(shape);
    attention.calls = static_cast<std::int64_t>(formulas.layers());
    if (time.lookup.row != measured::Lookup::kNoRow) {
      add_lookup(formulas, time.lookup, attention);
    }
    attention.mfu = time.lookup.mfu;
    attention.compute = attention.time;
    attention.kv = attention.bytes;
    put(place, std::move(attention));
  }

  void prefill_side(const TableMfuRoofline& formulas, const Place& place) {
    std::int64_t sampled = 0;
    for (const domain::PrefillChunk& chunk : batch_.prefills) {
      sampled += chunk.samples ? 1 : 0;
    }
    for (const TableMfuRoofline::Bucket& bucket : formulas.buckets(batch_)) {
      for (const GemmShape& shape : formulas.shapes()) {
        gemm_parts(formulas, shape, bucket.rows, true, place);
      }
      attention_part(formulas,
                     formulas.prefill_attention(bucket),
                     true,
                     fmt::format("{} {}, {} new tokens, bucket {}",
                                 bucket.requests,
                                 core::plural("chunk", bucket.requests),
                                 bucket.tokens,
                                 bucket.length),
                     place);
    }
    if (formulas.switches().lm_head && sampled > 0) {
      gemm_parts(formulas, formulas.lm_head(), sampled, true, place);
    }
  }

  void decode_side(const TableMfuRoofline& formulas, const Place& place) {
    for (const GemmShape& shape : formulas.shapes()) {
      gemm_parts(formulas, shape, batch_.num_decodes, false, place);
    }
    if (formulas.switches().lm_head) {
      gemm_parts(formulas, formulas.lm_head(), batch_.num_decodes, false, place);
    }
    attention_part(formulas,
                   formulas.decode_attention(batch_),
                   false,
                   fmt::format("{} {}, {} KV tokens",
                               batch_.num_decodes,
                               core::plural("sequence", batch_.num_decodes),
                               batch_.decode_context.value()),
                   place);
  }

  const RooflineModel& model_;
  const domain::StepBatch& batch_;
  const StepCost& cost_;
  double ridge_;
  Explanation out_;
};

}  // namespace

Explanation explain_cost(const RooflineModel& model,
                         const domain::StepBatch& batch,
                         const StepCost& cost) {
  return Explainer(model, batch, cost).run();
}

}  // namespace ridgeline::latency::roofline
