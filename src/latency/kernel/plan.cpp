#include "latency/kernel/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/all_to_all.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/compressed_attention.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/elementwise.hpp"
#include "latency/kernel/expert_gemm.hpp"
#include "latency/kernel/gemm.hpp"
#include "latency/kernel/indexer.hpp"
#include "latency/kernel/latent_attention.hpp"
#include "latency/kernel/launches.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "latency/kernel/quantised_rows.hpp"
#include "latency/kernel/recurrence.hpp"
#include "latency/kernel/sampling.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// What prices an operator that no table was fitted for.
constexpr const char* kUncalibrated = "kernel (roofline)";
/// Its constants come from one GPU's table and scale by datasheet.
constexpr const char* kRecurrenceSource = "kernel (h100, scaled)";

/// The largest share of a kernel's time that sparing the small one beside it takes off.
constexpr double kMostSpared = 0.9;

/// Turns the operators of a forward pass into priced ones.
class Planner {
 public:
  Planner(const model::ModelSpec& network,
          const model::Sharding& sharding,
          const Calibration& calibration,
          const hardware::GpuSpec& gpu,
          const KernelChoice& choice,
          std::int64_t tokens_in_a_row,
          const std::optional<HostWeights>& host)
      : network_(network),
        sharding_(sharding),
        calibration_(calibration),
        gpu_(gpu),
        choice_(choice),
        tokens_in_a_row_(tokens_in_a_row),
        host_(host) {}

  Plan plan(const std::vector<model::Operator>& operators) && {
    quantises_ = std::any_of(
        operators.begin(), operators.end(), [&](const model::Operator& op) { return is_8bit(op); });
    for (const model::Operator& op : operators) {
      const auto* exchange = std::get_if<model::AllReduce>(&op.shape);
      if (exchange != nullptr && has_norm(op, *exchange)) {
        exchange_with_norm_ = *exchange;
      }
    }
    for (const model::Operator& op : operators) {
      std::visit([&](const auto& shape) { add(op, shape); }, op.shape);
    }
    const Launched launched = launches(operators, gpu_);
    plan_.host_prompts =
        plan_.host_experts + calibration_.step.host_launch * real(launched.with_prompts);
    plan_.host_decodes =
        plan_.host_experts + calibration_.step.host_launch * real(launched.decodes);
    return std::move(plan_);
  }

 private:
  /// Share of the tokens' choices of experts that are not those of the token before. A prompt's
  /// tokens reach all experts either way.
  [[nodiscard]] double fresh_share() const {
    const double run = real(tokens_in_a_row_);
    return (1.0 + (run - 1.0) * (1.0 - calibration_.step.verified_experts_in_common)) / run;
  }
  [[nodiscard]] ExpertChoice expert_choice(const model::ExpertGemm& shape) const {
    const StepConstants& step = calibration_.step;
    const bool by_law = step.has_popularity_law && shape.experts > calibration_.coarse_experts;
    return {.popularity_shape =
                by_law && choice_.random_tokens ? step.random_tokens_popularity_shape : 0.0,
            .streamed_fraction = by_law ? 1.0 : step.streamed_expert_fraction,
            .fresh_share = fresh_share()};
  }
  [[nodiscard]] bool is_8bit(const model::Operator& op) const {
    if (const auto* gemm = std::get_if<model::Gemm>(&op.shape)) {
      return matmul_format(gemm->weights, gpu_).is_8bit;
    }
    const auto* experts = std::get_if<model::ExpertGemm>(&op.shape);
    return experts != nullptr && expert_format(experts->weights).is_8bit;
  }

  /// What the GPU makes of experts' weights: Marlin expands all narrow ones to 16 bit.
  [[nodiscard]] MatmulFormat expert_format(model::DType weights) const {
    MatmulFormat format = matmul_format(weights, gpu_);
    if (choice_.moe_backend == MoeBackend::kMarlin && format.is_8bit) {
      const MatmulFormat products = matmul_format(model::DType::kBf16, gpu_);
      format = {.weight_bytes = format.weight_bytes,
                .activation_bytes = products.activation_bytes,
                .peak = products.peak};
    }
    return format;
  }

  /// DeepGEMM takes weights whose sides are multiples of these (vLLM: utils/deep_gemm.py,
  /// should_use_deepgemm_for_fp8_linear; the kernels named in its tables of 0.24 agree); the others
  /// stay with the kernel that there is without it.
  [[nodiscard]] bool fits_deep_gemm(const model::Gemm& shape) const {
    constexpr std::int64_t kOutput = 64;
    constexpr std::int64_t kInput = 128;
    return choice_.deep_gemm.value_or(false) && shape.n % kOutput == 0 && shape.k % kInput == 0;
  }

  /// Whether vLLM's all-reduce computes the norm after it, for messages up to fused_limit().
  [[nodiscard]] bool has_norm(const model::Operator& op, const model::AllReduce& shape) const {
    return choice_.fuse_allreduce_rms.value_or(false) &&
           calibration_.step.fused_norm > core::Seconds() && op.name == "all_reduce" &&
           fused_limit(shape.ranks, gpu_) > core::Bytes();
  }

  /// With a share of the weights that a call reads lying in the host's memory: of experts those
  /// that it needs.
  [[nodiscard]] std::function<Cost(std::int64_t)> read_over_link(
      std::function<Cost(std::int64_t)> cost, core::Bytes weights) const {
    return [cost = std::move(cost), weights, share = host_->share, rate = host_->bandwidth](
               std::int64_t rows) {
      Cost result = cost(rows);
      result.time += std::min(result.bytes, weights) * share / rate;
      return result;
    };
  }

  RowOperator& push(const model::Operator& op,
                    std::string source,
                    std::function<Cost(std::int64_t)> cost) {
    if (const double weights = model::weight_bytes(op).value() / real(op.calls);
        host_ && !host_->copied && weights > 0.0 && op.name != "lm_head") {
      cost = read_over_link(std::move(cost), core::Bytes(weights));
    }
    plan_.rows.push_back({.name = op.name,
                          .calls = op.calls,
                          .rows = model::Rows::kTokens,
                          .source = std::move(source),
                          .cost = std::move(cost),
                          .shape = {}});
    return plan_.rows.back();
  }

  void add(const model::Operator& op, const model::Gemm& shape) {
    if (op.name == "router") {
      add_router(op, shape);
      return;
    }
    const MatmulFormat format = matmul_format(shape.weights, gpu_);
    const auto& set = calibration_.gemm(shape.weights, format, fits_deep_gemm(shape));
    RowOperator& row =
        push(op,
             set.source,
             [shape,
              format,
              &constants = set.values,
              &gpu = gpu_,
              quantised_rows = rows_written_quantised(op, choice_, exchange_with_norm_, gpu_),
              spared = calibration_.step.fused_quantisation](std::int64_t rows) {
               Cost cost = gemm({.m = rows, .k = shape.k, .n = shape.n}, format, constants, gpu);
               if (rows <= quantised_rows) {
                 cost.time -= std::min(cost.time * kMostSpared, spared);
               }
               return cost;
             });
    row.rows = shape.rows;
    row.shape = [shape](std::int64_t rows) {
      return fmt::format("{}x{}x{}", rows, shape.k, shape.n);
    };
  }

  /// The expert kernels were measured with their routing, but for routers in FP32, whose operands
  /// are made from 16 bit and multiplied by the ordinary units.
  void add_router(const model::Operator& op, const model::Gemm& shape) {
    if (shape.weights != model::DType::kFp32 || !calibration_.step.fp32_routers) {
      return;
    }
    if (calibration_.step.unfused_routing > core::Seconds()) {
      add_routing(op, shape.n);
    }
    const MatmulFormat format = matmul_format(shape.weights, gpu_);
    const auto& set = calibration_.gemm_16bit;
    const bool on_tensor_cores = choice_.fp32_as_tf32;
    RowOperator& row = push(
        op,
        on_tensor_cores ? set.source : kUncalibrated,
        [shape, format, on_tensor_cores, &constants = set.values, &gpu = gpu_](std::int64_t rows) {
          const GemmShape call{.m = rows, .k = shape.k, .n = shape.n};
          const Cost plain = fp32_gemm(call, constants, gpu);
          const Cost tf32 = gemm(call, format, constants, gpu);
          return on_tensor_cores && tf32.time < plain.time ? tf32 : plain;
        });
    row.shape = [shape](std::int64_t rows) {
      return fmt::format("{}x{}x{}", rows, shape.k, shape.n);
    };
  }

  void add(const model::Operator& op, const model::ExpertGemm& shape) {
    const MatmulFormat format = expert_format(shape.weights);
    const auto& set =
        calibration_.experts(shape.weights, format, shape.experts, choice_.moe_backend);
    const auto& gap_on = calibration_.step.uncaptured_expert_gap_on;
    const bool has_gap =
        !gap_on || (gap_on->gpu == gpu_.name && shape.experts <= gap_on->most_experts);
    plan_.host_experts = plan_.host_experts + calibration_.step.host_experts * real(op.calls);
    plan_.gap_layers += format.is_8bit && has_gap ? op.calls : 0;
    RowOperator& row =
        push(op,
             set.source,
             [shape, format, &constants = set.values, &gpu = gpu_, choice = expert_choice(shape)](
                 std::int64_t rows) {
               return expert_gemm(shape, rows, format, constants, choice, gpu);
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

  /// Small kernels over FP32 scores of all experts, where no kernel does it at once: sigmoid, bias,
  /// the groups' best, masks, top-k, gathering and normalising.
  void add_routing(const model::Operator& op, std::int64_t experts) {
    constexpr double kPasses = 20.0;  // some ten kernels, each reads and writes
    constexpr double kBytesPerScore = 4.0;
    RowOperator& row = push(
        op, kUncalibrated, [experts, &step = calibration_.step, &gpu = gpu_](std::int64_t rows) {
          const core::Bytes moved(kPasses * kBytesPerScore * real(rows) * real(experts));
          return Cost{.time = step.unfused_routing + moved / gpu.mem_bandwidth,
                      .flops = {},
                      .bytes = moved,
                      .kind = domain::Bottleneck::kOverhead,
                      .losing = {}};
        });
    row.name = "routing";
    row.shape = [experts](std::int64_t rows) { return fmt::format("{}x{}", rows, experts); };
  }

  /// The sizes up to which vLLM's own kernels exchange: none, where they are off.
  [[nodiscard]] ExchangeConstants own_exchange() const {
    ExchangeConstants exchange = calibration_.exchange;
    if (choice_.disable_custom_all_reduce) {
      exchange.custom = core::Bytes();
      exchange.one_shot_up_to_4_ranks = core::Bytes();
      exchange.one_shot_above_4_ranks = core::Bytes();
    }
    return exchange;
  }

  void add(const model::Operator& op, const model::AllReduce& shape) {
    if (shape.ranks < 2) {
      return;
    }
    const auto& set = calibration_.all_reduce;
    // Engines that say nothing of what the norm takes fuse all exchanges, where a set is known.
    const bool has_limit = calibration_.step.fused_norm > core::Seconds();
    const bool is_fused =
        choice_.fuse_allreduce_rms.value_or(false) &&
        (has_limit ? has_norm(op, shape) : calibration_.all_reduce_fused.has_value());
    const bool by_symm_mem =
        choice_.symm_mem_all_reduce && symm_mem_limits(shape.ranks, gpu_).has_value();
    const auto& fused = is_fused && calibration_.all_reduce_fused ? *calibration_.all_reduce_fused
                                                                  : calibration_.all_reduce;
    const hardware::LinkView view = hardware::over_link(gpu_, shape.ranks);
    RowOperator& row = push(
        op,
        shape.ranks > gpu_.link_domain
            ? fmt::format("{} ({})", set.source, hardware::name(view.link))
        : is_fused    ? fused.source
        : by_symm_mem ? fmt::format("{}, symmetric memory as two shots or NCCL", set.source)
                      : set.source,
        [shape,
         by_symm_mem,
         is_fused,
         has_limit,
         &own = set.values,
         &fused = fused.values,
         own_exchange = own_exchange(),
         &calibration = calibration_,
         gpu = view.gpu](std::int64_t rows) {
          const core::Bytes message(kBytesPer16Bit * real(rows) * real(shape.width));
          if (!is_fused || (has_limit && message > fused_limit(shape.ranks, gpu))) {
            return by_symm_mem ? symm_mem_all_reduce(message, shape.ranks, own, own_exchange, gpu)
                               : all_reduce(message, shape.ranks, own, own_exchange, gpu);
          }
          Cost cost = all_reduce(message, shape.ranks, fused, calibration.exchange, gpu);
          cost.time -= std::min(cost.time * kMostSpared, calibration.step.fused_norm);
          return cost;
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

  /// Attention of some form over a KV cache: `decode` and `prefill` price one call of it.
  template <class Shape, class Decode, class Prefill>
  void add_cached_attention(const model::Operator& op,
                            const Shape& shape,
                            const Sourced<DecodeAttentionConstants>& decodes,
                            const DecodeLine& line,
                            std::int64_t window,
                            Decode decode,
                            Prefill prefill) {
    const auto& prefills = calibration_.prefill_attention;
    const std::int64_t ranks = sharding_.decode_context_parallel_size;
    AttentionOperator& added = push_mixer(op, ranks > 1 ? dealt_out(line, shape) : line);
    added.window = window;
    added.decode_source = decodes.source;
    added.prefill_source = prefills.source;
    added.decode_cost =
        [shape = of_group(shape), decode, &decodes, &gpu = gpu_](const DecodeCall& call) {
          return decode(call, shape, decodes.values, gpu);
        };
    added.prefill_cost = [shape, prefill, &prefills, &common = calibration_.attention, &gpu = gpu_](
                             const PrefillCall& call) {
      return prefill(call, shape, prefills.values, common, gpu);
    };
    if (ranks > 1) {
      deal_out(op, shape, added);
    }
  }

  /// The attention of a rank that has a share of each context and all query heads of its group.
  template <class Shape>
  [[nodiscard]] Shape of_group(Shape shape) const {
    shape.heads *= sharding_.decode_context_parallel_size;
    return shape;
  }

  /// What a rank gets of the others in its group: of a decode's token queries and outputs of its
  /// own heads, of a prompt's past the cache.
  template <class Shape>
  [[nodiscard]] core::Bytes exchanged(const Shape& shape) const {
    double width = 0.0;
    if constexpr (std::is_same_v<Shape, model::LatentAttention>) {
      width = real(2 * shape.rank + shape.rope);
    } else if constexpr (std::is_same_v<Shape, model::Attention>) {
      width = real(shape.head_dim + shape.values());
    }
    const std::int64_t others = sharding_.decode_context_parallel_size - 1;
    return core::Bytes(real(shape.heads * others) * width * kBytesPer16Bit);
  }
  [[nodiscard]] core::Seconds received(core::Bytes bytes) const {
    constexpr double kOwnLink = 1.0;
    const std::int64_t ranks = sharding_.decode_context_parallel_size;
    return nccl(bytes,
                core::Bytes(),
                kOwnLink,
                calibration_.all_reduce.values,
                hardware::over_link(gpu_, ranks).gpu);
  }

  /// The line of a decode over a share of each context: queries are gathered before it, outputs
  /// joined behind it.
  template <class Shape>
  [[nodiscard]] DecodeLine dealt_out(DecodeLine line, const Shape& shape) const {
    const double share = 1.0 / real(sharding_.decode_context_parallel_size);
    const core::Seconds start = received({});
    line.floor += start * 2.0;
    line.fixed += start * 2.0;
    line.per_token += received(exchanged(shape)) - start;
    line.per_context_token = line.per_context_token * share;
    if (line.blocks) {
      line.blocks->shared = line.blocks->shared * share;
      line.blocks->alone = line.blocks->alone * share;
      line.blocks->tile = line.blocks->tile * share;
    }
    return line;
  }

  /// As the line, for single calls; and prompts gather what the others have of their past.
  template <class Shape>
  void deal_out(const model::Operator& op, const Shape& shape, AttentionOperator& added) const {
    const std::int64_t ranks = sharding_.decode_context_parallel_size;
    const core::Seconds start = received({});
    added.decode_cost = [decode = std::move(added.decode_cost),
                         ranks,
                         start,
                         per_token = received(exchanged(shape)) - start](DecodeCall call) {
      call.context /= ranks;
      call.pairs /= real(ranks);
      Cost cost = decode(call);
      cost.time += start * 2.0 + per_token * real(call.tokens);
      return cost;
    };
    const core::Bytes past(model::kv_bytes_per_token(op).value() / real(op.calls) *
                           real(ranks - 1) / real(ranks));
    added.prefill_cost = [prefill = std::move(added.prefill_cost),
                          past_token = received(past) - start,
                          start](const PrefillCall& call) {
      Cost cost = prefill(call);
      const std::int64_t tokens = call.kv_tokens - call.new_tokens;
      cost.time += tokens > 0 ? start + past_token * real(tokens) : core::Seconds();
      return cost;
    };
  }

  void add(const model::Operator& op, const model::Attention& shape) {
    const auto& decodes = calibration_.decode(shape.kv);
    const double mixed = calibration_.attention.mixed_tile_efficiency;
    add_cached_attention(
        op,
        shape,
        decodes,
        decode_line(of_group(shape), decodes.values, gpu_, mixed),
        narrower(shape.window, shape.selected),
        [mixed](const DecodeCall& call,
                const model::Attention& what,
                const DecodeAttentionConstants& constants,
                const hardware::GpuSpec& gpu) {
          return decode_attention(call, what, constants, gpu, mixed);
        },
        prefill_attention);
  }

  void add(const model::Operator& op, const model::LatentAttention& shape) {
    add_cached_attention(
        op,
        shape,
        calibration_.decode_attention,
        latent_decode_line(of_group(shape), calibration_.decode_attention.values, gpu_),
        shape.selected,
        latent_decode,
        latent_prefill);
  }

  void add(const model::Operator& op, const model::CompressedAttention& shape) {
    add_cached_attention(op,
                         shape,
                         calibration_.decode_attention,
                         compressed_decode_line(shape, calibration_.decode_attention.values, gpu_),
                         shape.ratio * shape.selected,
                         compressed_decode,
                         compressed_prefill);
  }

  void add(const model::Operator& op, const model::Indexer& shape) {
    const core::Seconds beside = calibration_.step.indexer;
    AttentionOperator& added = push_mixer(op, delayed(indexer_line(shape, gpu_), beside));
    added.decode_source = kUncalibrated;
    added.prefill_source = kUncalibrated;
    added.decode_cost = [shape, beside, &gpu = gpu_](const DecodeCall& call) {
      return delayed(indexer_decode(call, shape, gpu), beside);
    };
    added.prefill_cost = [shape, beside, &gpu = gpu_](const PrefillCall& call) {
      return delayed(indexer_prefill(call, shape, gpu), beside);
    };
  }

  void add(const model::Operator& op, const model::Recurrence& shape) {
    const core::Seconds beside = calibration_.step.recurrence;
    AttentionOperator& added = push_mixer(op, delayed(recurrence_line(shape, gpu_), beside));
    added.decode_source = kRecurrenceSource;
    added.prefill_source = kRecurrenceSource;
    added.decode_cost = [shape, beside, &gpu = gpu_](const DecodeCall& call) {
      return delayed(recurrence_decode(call, shape, gpu), beside);
    };
    added.prefill_cost = [shape, beside, &gpu = gpu_](const PrefillCall& call) {
      return delayed(recurrence_prefill(call, shape, gpu), beside);
    };
  }

  void add(const model::Operator& op, const model::AllToAll& shape) {
    if (shape.ranks < 2) {
      return;
    }
    const auto& set = calibration_.all_reduce;
    // vLLM numbers tensor-parallel ranks first: the copies of a rank are that many GPUs apart.
    const std::int64_t span = shape.ranks * sharding_.tensor_parallel_size;
    const hardware::LinkView view = hardware::over_link(gpu_, span);
    const std::int64_t node = std::max(gpu_.gpus_per_node, gpu_.link_domain);
    const model::AllToAll carried = view.link == hardware::Link::kNetwork
                                        ? between_nodes(shape, (span + node - 1) / node)
                                        : shape;
    RowOperator& row = push(op,
                            fmt::format("{} ({})", set.source, hardware::name(view.link)),
                            [carried, &constants = set.values, gpu = view.gpu](std::int64_t rows) {
                              return all_to_all(carried, rows, constants, gpu);
                            });
    row.shape = [shape](std::int64_t rows) {
      return fmt::format(
          "{}x{} over {} ranks, {}", rows, shape.width, shape.ranks, model::name(shape.backend));
    };
  }

  /// An operator whose decode time is that line, all calls together.
  AttentionOperator& push_mixer(const model::Operator& op, const DecodeLine& line) {
    plan_.attention.push_back({.name = op.name,
                               .calls = op.calls,
                               .position = plan_.rows.size(),
                               .fixed = line.fixed * real(op.calls),
                               .per_sequence = line.per_sequence * real(op.calls),
                               .per_token = line.per_token * real(op.calls),
                               .side = line.side,
                               .fixed_floor = all_calls(line.floor, op.calls),
                               .floor_per_sequence = line.floor_per_sequence * real(op.calls),
                               .per_context_token = all_calls(line.per_context_token, op.calls),
                               .blocks = line.blocks,
                               .window = 0,
                               .decode_cost = {},
                               .prefill_cost = {},
                               .decode_source = {},
                               .prefill_source = {},
                               .measured = nullptr});
    return plan_.attention.back();
  }

  /// With small kernels beside it, each call of which takes as long.
  static DecodeLine delayed(DecodeLine line, core::Seconds beside) {
    line.floor += beside;
    line.fixed += beside;
    return line;
  }
  static Cost delayed(Cost cost, core::Seconds beside) {
    cost.time += beside;
    return cost;
  }

  /// The smaller of two limits, 0 being none.
  static std::int64_t narrower(std::int64_t a, std::int64_t b) {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
  }

  /// Norms of the hidden row run inside LayerElementwise; those between the GEMMs of a mixer are
  /// kernels more.
  void add(const model::Operator& op, const model::Norm& shape) {
    constexpr auto kInMixer =
        std::to_array<std::string_view>({"qk_norm", "q_norm", "k_norm", "q_a_norm", "kv_a_norm"});
    if (std::ranges::find(kInMixer, op.name) == kInMixer.end() ||
        calibration_.step.norm <= core::Seconds()) {
      return;
    }
    constexpr auto kWide = std::to_array<std::string_view>({"q_norm", "k_norm"});
    const bool is_wide = std::ranges::find(kWide, op.name) != kWide.end();
    const double kernels = is_wide ? real(calibration_.step.wide_norm_kernels) : 1.0;
    RowOperator& row =
        push(op, "kernel", [kernels, &step = calibration_.step](std::int64_t /*rows*/) {
          return Cost{.time = step.norm * kernels,
                      .flops = {},
                      .bytes = {},
                      .kind = domain::Bottleneck::kOverhead,
                      .losing = {}};
        });
    row.shape = [shape](std::int64_t rows) { return fmt::format("{}x{}", rows, shape.width); };
  }
  // The embedding lookup is one row per token of a network's worth of them: no time of its own.
  void add(const model::Operator& /*op*/, const model::Embedding& /*shape*/) {}
  // Images are encoded beside the decoder's steps.
  void add(const model::Operator& /*op*/, const model::Resident& /*shape*/) {}

  const model::ModelSpec& network_;
  const model::Sharding& sharding_;
  const Calibration& calibration_;
  const hardware::GpuSpec& gpu_;
  const KernelChoice& choice_;
  std::int64_t tokens_in_a_row_;
  const std::optional<HostWeights>& host_;
  std::optional<model::AllReduce> exchange_with_norm_;
  bool quantises_ = false;
  Plan plan_;
};

}  // namespace

core::Duration all_calls(core::Seconds one_call, std::int64_t calls) {
  return core::Duration::saturating(one_call * real(calls));
}

core::Duration AttentionOperator::floor(std::int64_t sequences) const {
  return core::Duration::saturating_sum(fixed_floor,
                                        all_calls(floor_per_sequence * real(sequences), 1));
}

core::Duration AttentionOperator::base(std::int64_t sequences, std::int64_t tokens) const {
  return all_calls(fixed + per_sequence * real(sequences) + per_token * real(tokens), 1);
}

core::Duration AttentionOperator::decode(const DecodeCall& call) const {
  const std::int64_t context = std::min(call.context, most_context(call.sequences));
  if (measured != nullptr) {
    const MeasuredAttention::Piece piece = measured->decode(call.sequences, context);
    return piece.base + piece.slope * context;
  }
  return std::max(
      floor(call.sequences),
      core::Duration::saturating_sum(
          base(call.sequences, call.tokens),
          core::Duration::saturating_product(slope(call.sequences, call.is_mixed),
                                             context + padding(call.sequences, call.is_mixed))));
}

std::int64_t AttentionOperator::most_context(std::int64_t sequences) const {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  return window == 0 || sequences > kAll / window ? kAll : window * sequences;
}

core::Duration AttentionOperator::slope(std::int64_t sequences, bool is_mixed) const {
  if (!blocks) {
    return per_context_token;
  }
  return all_calls(is_mixed ? blocks->per_context_token_beside_prompts(sequences)
                            : blocks->per_context_token(sequences),
                   calls);
}

std::int64_t AttentionOperator::crossing(core::Duration floor,
                                         core::Duration base,
                                         core::Duration slope) {
  const std::int64_t missing = (floor - base).count();
  if (missing <= 0) {
    return 0;
  }
  const std::int64_t each = slope.count();
  return each == 0 ? kMaxContext + 1 : 1 + (missing - 1) / each;
}

Plan make_plan(const model::ModelSpec& network,
               const model::Sharding& sharding,
               const Calibration& calibration,
               const hardware::GpuSpec& gpu,
               const KernelChoice& choice,
               std::int64_t tokens_in_a_row,
               const std::optional<HostWeights>& host) {
  return Planner(network, sharding, calibration, gpu, choice, tokens_in_a_row, host)
      .plan(model::forward_pass(network, sharding));
}

}  // namespace ridgeline::latency::kernel
