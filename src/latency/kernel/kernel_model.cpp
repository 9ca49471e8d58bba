#include "latency/kernel/kernel_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/context_parallel_model.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/engine_kernels.hpp"
#include "latency/kernel/host_weights_model.hpp"
#include "latency/kernel/line_cost.hpp"
#include "latency/kernel/notes.hpp"
#include "latency/kernel/part_memo.hpp"
#include "latency/kernel/pipeline_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "latency/kernel/settings.hpp"
#include "latency/kernel/speculative_model.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Largest counts remembered: steps of vLLM's largest default budget, and more sequences than
/// engines run. With 32 bytes an entry, 1.1 MB a model.
constexpr std::int64_t kRememberedTokens = 16384;
constexpr std::int64_t kRememberedSequences = 2048;
/// Most whole prompts of one length in a step whose attention is remembered.
constexpr std::size_t kRememberedPrompts = 4;

std::vector<PartMemo> make_memos(std::size_t count, std::int64_t last) {
  std::vector<PartMemo> memos;
  memos.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    memos.emplace_back(last);
  }
  return memos;
}

void add(core::Duration& to, core::Duration time) {
  to = core::Duration::saturating_sum(to, time);
}

void add_parts(const TimeByKind& parts, domain::StepTime& to) {
  for (std::size_t kind = 0; kind < parts.size(); ++kind) {
    add(to.by_bottleneck[kind], parts[kind]);
  }
}

/// The kernels that are asked for, and those that the engine takes anyway.
KernelChoice choice_of(const Execution& execution) {
  KernelChoice choice = execution.kernels;
  choice.fuse_allreduce_rms =
      choice.fuse_allreduce_rms.value_or(fuses_all_reduce(execution.engine));
  choice.deep_gemm = choice.deep_gemm.value_or(takes_deep_gemm(execution.engine));
  return choice;
}

/// A step verifies all drafts of a sequence and has a token besides.
std::int64_t tokens_in_a_row(const Execution& execution) {
  return execution.speculation ? 1 + execution.speculation->num_speculative_tokens : 1;
}

/// base + slope * context.
core::Duration on_line(core::Duration base, core::Duration slope, std::int64_t context) {
  return core::Duration::saturating_sum(base, core::Duration::saturating_product(slope, context));
}

}  // namespace

KernelModel::KernelModel(const ModelInputs& inputs, const Constants& constants)
    : KernelModel(inputs, constants, nullptr) {}

KernelModel::KernelModel(const ModelInputs& inputs,
                         const Constants& constants,
                         const PlanEdit& edit)
    : settings_(inputs.options.settings),
      gpu_(inputs.gpu),
      calibration_(calibrate(constants, inputs.gpu)),
      graph_sizes_(inputs.execution.cuda_graph_sizes),
      plan_(make_plan(inputs.network,
                      inputs.execution.sharding,
                      calibration_,
                      gpu_,
                      choice_of(inputs.execution),
                      tokens_in_a_row(inputs.execution),
                      inputs.execution.host_weights)),
      step_gap_(all_calls(calibration_.step.step_gap, 1)),
      piecewise_gap_(all_calls(calibration_.step.piecewise_layer_gap, inputs.network.num_layers())),
      uncaptured_gap_(all_calls(calibration_.step.uncaptured_expert_gap, plan_.gap_layers)),
      eager_gap_(inputs.execution.enforce_eager ? uncaptured_gap_ : core::Duration()),
      is_eager_(inputs.execution.enforce_eager),
      host_prompts_(all_calls(plan_.host_prompts, 1)),
      host_decodes_(all_calls(plan_.host_decodes, 1)),
      host_pieces_(inputs.execution.graphs_in_pieces
                       ? all_calls(calibration_.step.host_pieces, inputs.network.num_layers())
                       : core::Duration()),
      graphs_hold_prompts_(inputs.execution.graphs_hold_prompts),
      notes_(kernel_notes(inputs.network, inputs.gpu, inputs.execution.sharding, calibration_)),
      token_memo_(kRememberedTokens),
      sampled_memo_(kRememberedSequences),
      prompt_memos_(make_memos(kRememberedPrompts, kRememberedTokens)) {
  RIDGELINE_CHECK(std::is_sorted(graph_sizes_.begin(), graph_sizes_.end()),
                  "CUDA graph sizes ascend");
  if (is_eager_ && eager_gap_ == core::Duration()) {
    notes_.push_back(
        {.code = "W-unpriced-eager",
         .message = "enforce_eager: launches by the host were seen to bound steps with prompts, "
                    "and are taken to take as long here; no eager server of such a network was "
                    "measured",
         .hint = "take the times as lower bounds"});
  }
  if (edit) {
    edit(plan_, calibration_);
  }
  decode_memos_ = make_memos(plan_.attention.size(), kRememberedSequences);
}

DecodeCall KernelModel::decodes_of(const domain::StepBatch& batch) const {
  DecodeCall call;
  call.sequences = batch.num_decodes;
  call.tokens = batch.num_decodes;
  call.context = batch.decode_context.value();
  call.pairs = static_cast<double>(call.context + call.tokens);
  if (batch.shared_context > core::Tokens(0)) {
    const std::int64_t spared = spared_context(batch.shared_context).value();
    call.context = std::max<std::int64_t>(call.context - spared, 0);
  }
  return call;
}

KernelModel::Work KernelModel::work_of(const domain::StepBatch& batch) const {
  Work work;
  work.tokens = batch.num_decodes;
  work.sampled = batch.num_decodes;
  work.chunks = {batch.prefills.data(), batch.prefills.size()};
  work.decode = decodes_of(batch);
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    work.tokens += chunk.new_tokens.value();
    work.sampled += chunk.samples ? 1 + chunk.drafts : 0;
    if (chunk.new_tokens > calibration_.attention.short_chunk) {
      work.prefill.add(chunk);
    } else {
      work.decode.add(chunk);
    }
    work.decode.is_mixed |= chunk.new_tokens > core::Tokens(1) && chunk.drafts == 0;
  }
  return work;
}

core::Tokens KernelModel::spared_context(core::Tokens shared) const {
  const auto reads = [](const AttentionOperator& op) {
    return op.side == domain::Bottleneck::kMemory;
  };
  if (!std::all_of(plan_.attention.begin(), plan_.attention.end(), reads)) {
    return {};
  }
  const double spared = calibration_.attention.shared_context_saving * real(shared.value());
  return core::Tokens(static_cast<std::int64_t>(spared));
}

TimeByKind KernelModel::sum_rows(model::Rows rows, std::int64_t count) const {
  TimeByKind parts{};
  if (count == 0) {
    return parts;
  }
  for (const RowOperator& op : plan_.rows) {
    if (op.rows == rows) {
      const Cost cost = op.cost(count);
      add(parts[static_cast<std::size_t>(cost.counted_as())], all_calls(cost.time, op.calls));
    }
  }
  return parts;
}

TimeByKind KernelModel::token_part(std::int64_t tokens) const {
  // Looked up as they come: which graph they are padded to is searched for once per count.
  return token_memo_.get(tokens, [this](std::int64_t count) { return sum_padded(count); });
}

TimeByKind KernelModel::sum_padded(std::int64_t tokens) const {
  const std::int64_t rows = padded(tokens);
  const auto of_graph = [this](std::int64_t all) { return sum_rows(model::Rows::kTokens, all); };
  return rows == tokens ? of_graph(rows) : token_memo_.get(rows, of_graph);
}

TimeByKind KernelModel::sampled_part(std::int64_t sampled) const {
  return sampled_memo_.get(
      sampled, [this](std::int64_t count) { return sum_rows(model::Rows::kSampled, count); });
}

domain::StepTime KernelModel::start(const TimeByKind& tokens, const TimeByKind& sampled) const {
  domain::StepTime time;
  for (std::size_t kind = 0; kind < tokens.size(); ++kind) {
    time.by_bottleneck[kind] = core::Duration::saturating_sum(tokens[kind], sampled[kind]);
  }
  time.add(domain::Bottleneck::kOverhead, step_gap_);
  return time;
}

PrefillCall KernelModel::prefill_of(const AttentionOperator& op, const Work& work) const {
  if (op.window == 0 || work.prefill.longest <= op.window) {
    return work.prefill;
  }
  PrefillCall call;
  for (const domain::PrefillChunk& chunk : work.chunks) {
    if (chunk.new_tokens > calibration_.attention.short_chunk) {
      add_within_window(call, chunk, op.window);
    }
  }
  return call;
}

Cost KernelModel::prefill_cost(const AttentionOperator& op,
                               const PrefillCall& call,
                               const Work& work) {
  Cost cost = op.prefill_cost(call);
  if (op.measured != nullptr) {
    cost.time = op.measured->prefill(work.chunks);
    cost.losing.reset();
  }
  return cost;
}

TimeByKind KernelModel::sum_prefill(const Work& work) const {
  TimeByKind parts{};
  if (work.prefill.chunks > 0) {
    for (const AttentionOperator& op : plan_.attention) {
      const Cost cost = prefill_cost(op, prefill_of(op, work), work);
      add(parts[static_cast<std::size_t>(cost.counted_as())], all_calls(cost.time, op.calls));
    }
  }
  return parts;
}

TimeByKind KernelModel::prefill_part(const Work& work) const {
  const PrefillCall& call = work.prefill;
  const bool whole = call.chunks == static_cast<std::int64_t>(work.chunks.size()) &&
                     call.kv_tokens == call.new_tokens;
  const bool equal = call.longest_new * call.chunks == call.new_tokens;
  if (!whole || !equal || call.chunks == 0 ||
      call.chunks > static_cast<std::int64_t>(prompt_memos_.size())) {
    return sum_prefill(work);
  }
  return prompt_memos_[static_cast<std::size_t>(call.chunks - 1)].get(
      call.longest_new, [this, &work](std::int64_t /*tokens*/) { return sum_prefill(work); });
}

/// The floor, the line at no context and its slope.
TimeByKind KernelModel::line_of(const AttentionOperator& op, std::int64_t sequences) {
  return {op.floor(sequences), op.base(sequences, sequences), op.slope(sequences)};
}

core::Duration KernelModel::decode_part(std::size_t index, const DecodeCall& call) const {
  const AttentionOperator& op = plan_.attention[index];
  if (op.measured != nullptr || call.tokens != call.sequences || call.is_mixed) {
    return op.decode(call);
  }
  const auto [floor, base, slope, rest] = decode_memos_[index].get(
      call.sequences, [&op](std::int64_t count) { return line_of(op, count); });
  return std::max(floor,
                  on_line(base, slope, std::min(call.context, op.most_context(call.sequences))));
}

void KernelModel::add_attention(const TimeByKind& prefill,
                                const DecodeCall& decode,
                                domain::StepTime& time) const {
  add_parts(prefill, time);
  if (decode.sequences > 0) {
    for (std::size_t i = 0; i < plan_.attention.size(); ++i) {
      time.add(plan_.attention[i].side, decode_part(i, decode));
    }
  }
}

/// In one piece, since it is on every mixed step's way; what is not remembered yet is not.
[[gnu::flatten]] domain::StepTime KernelModel::predict(const domain::StepBatch& batch) const {
  if (batch.prefills.size() == 1) {
    const domain::PrefillChunk& chunk = batch.prefills.front();
    if (chunk.past == core::Tokens(0) && chunk.drafts == 0 &&
        chunk.new_tokens > calibration_.attention.short_chunk) {
      return predict_whole_prompt(batch);
    }
  }
  const Work work = work_of(batch);
  if (work.tokens == 0) {
    return {};
  }
  domain::StepTime time = start(token_part(work.tokens), sampled_part(work.sampled));
  const TimeByKind prefill = prefill_part(work);
  const core::Duration gap = launch_gap(batch, kernel_time(time, prefill));
  add_attention(prefill, work.decode, time);
  time.add(domain::Bottleneck::kOverhead, gap);
  return time;
}

domain::StepTime KernelModel::predict_whole_prompt(const domain::StepBatch& batch) const {
  const domain::PrefillChunk& chunk = batch.prefills.front();
  const std::int64_t prompt = chunk.new_tokens.value();
  const std::int64_t tokens = batch.num_decodes + prompt;
  domain::StepTime time =
      start(token_part(tokens), sampled_part(batch.num_decodes + (chunk.samples ? 1 : 0)));
  const TimeByKind prefill = prompt_memos_.front().get(
      prompt, [&](std::int64_t /*tokens*/) { return sum_prefill(work_of(batch)); });
  const core::Duration gap = launch_gap_of_prompts(tokens, kernel_time(time, prefill));
  DecodeCall decodes = decodes_of(batch);
  decodes.is_mixed = true;
  add_attention(prefill, decodes, time);
  time.add(domain::Bottleneck::kOverhead, gap);
  return time;
}

bool KernelModel::logs() const {
  return calibration_.step.uncaptured_expert_gap_on && uncaptured_gap_ > core::Duration() &&
         !graph_sizes_.empty();
}

domain::StepTime KernelModel::predict_logged(const domain::StepBatch& batch, LookupLog& log) const {
  const domain::StepTime time = predict(batch);
  if (logs() && !is_piecewise(batch) && launch_gap(batch) > core::Duration()) {
    log.note(kGapShare, uncaptured_gap_.to_seconds() / time.gpu().to_seconds());
  }
  return time;
}

core::Warnings KernelModel::findings(const LookupLog& log) const {
  /// From here on the constant decides the answer.
  constexpr double kDecisive = 0.1;
  const LookupLog::Entry share = log.at(kGapShare);
  if (!logs() || share.count == 0 || share.most < kDecisive) {
    return {};
  }
  const StepConstants& step = calibration_.step;
  const std::string which =
      eager_gap_ > core::Duration()
          ? std::string("an eager step")
          : fmt::format("a step with prompts beyond the largest CUDA graph ({} tokens)",
                        graph_sizes_.back());
  return {{.code = "W-uncaptured-experts",
           .message = fmt::format(
               "up to {:.0f} % of {} is uncaptured_expert_gap_us, {:.4g} us for each layer with "
               "8-bit experts: measured on one server ({})",
               100.0 * share.most,
               which,
               core::as_microseconds(step.uncaptured_expert_gap),
               step.uncaptured_expert_gap_on->server),
           .hint = "--latency-set uncaptured_expert_gap_us=0 shows the answer without it"}};
}

domain::StepTime KernelModel::recompute(const domain::StepBatch& batch) const {
  const Work work = work_of(batch);
  if (work.tokens == 0) {
    return {};
  }
  domain::StepTime time = start(sum_rows(model::Rows::kTokens, padded(work.tokens)),
                                sum_rows(model::Rows::kSampled, work.sampled));
  const TimeByKind prefill = sum_prefill(work);
  const core::Duration gap = launch_gap(batch, kernel_time(time, prefill));
  add_attention(prefill, work.decode, time);
  time.add(domain::Bottleneck::kOverhead, gap);
  return time;
}

std::optional<domain::AffineStep> KernelModel::affine(std::int64_t num_decodes,
                                                      core::Tokens context) const {
  if (num_decodes < 1 || context < core::Tokens(0) || context > core::Tokens(kMaxContext)) {
    return std::nullopt;
  }
  domain::AffineStep step;
  step.base = start(token_part(num_decodes), sampled_part(num_decodes));
  step.base.add(domain::Bottleneck::kOverhead,
                launch_gap_of_decodes(num_decodes, kernel_time(step.base, {})));
  return add_decode_lines(num_decodes, context, false, step) ? std::optional(step) : std::nullopt;
}

std::optional<domain::AffineStep> KernelModel::affine_with_prompt(std::int64_t num_decodes,
                                                                  core::Tokens prompt,
                                                                  core::Tokens context) const {
  if (num_decodes < 0 || prompt <= calibration_.attention.short_chunk ||
      context < core::Tokens(0) || context > core::Tokens(kMaxContext)) {
    return std::nullopt;
  }
  const domain::PrefillChunk whole{.past = {}, .new_tokens = prompt, .samples = true};
  domain::StepBatch batch;
  batch.num_decodes = num_decodes;
  batch.prefills = {&whole, 1};
  const Work work = work_of(batch);
  domain::AffineStep step;
  step.base = start(token_part(work.tokens), sampled_part(work.sampled));
  const TimeByKind prefill = prefill_part(work);
  const core::Duration gap = launch_gap(batch, kernel_time(step.base, prefill));
  add_parts(prefill, step.base);
  step.base.add(domain::Bottleneck::kOverhead, gap);
  return add_decode_lines(num_decodes, context, true, step) ? std::optional(step) : std::nullopt;
}

bool is_in_range(const domain::AffineStep& step) {
  constexpr core::Duration kLongestBase = core::Duration::seconds(10'000);
  constexpr core::Duration kSteepest = core::Duration::microseconds(100);
  return step.base.gpu() <= kLongestBase && step.slope <= kSteepest;
}

bool KernelModel::add_decode_lines(std::int64_t num_decodes,
                                   core::Tokens context,
                                   bool is_mixed,
                                   domain::AffineStep& step) const {
  step.lowest = core::Tokens(0);
  step.highest = core::Tokens(kMaxContext);
  if (num_decodes == 0) {
    return is_in_range(step);
  }
  bool sloped = false;
  for (const AttentionOperator& op : plan_.attention) {
    if (op.measured != nullptr) {
      const auto piece = op.measured->decode(num_decodes, context.value());
      if (sloped && op.side != step.slope_kind) {
        return false;
      }
      step.slope_kind = op.side;
      sloped = true;
      step.base.add(op.side, piece.base);
      step.slope += piece.slope;
      step.lowest = std::max(step.lowest, core::Tokens(piece.lowest));
      step.highest = std::min(step.highest, core::Tokens(piece.highest));
      continue;
    }
    const core::Duration floor = op.floor(num_decodes);
    const core::Duration slope = op.slope(num_decodes, is_mixed);
    const core::Duration line = core::Duration::saturating_sum(
        op.base(num_decodes, num_decodes),
        core::Duration::saturating_product(slope, op.padding(num_decodes, is_mixed)));
    const core::Tokens crossing(kernel::AttentionOperator::crossing(floor, line, slope));
    const core::Tokens most(op.most_context(num_decodes));
    if (context < crossing) {
      step.base.add(op.side, floor);
      step.highest = std::min(step.highest, crossing - core::Tokens(1));
    } else if (context > most) {
      step.base.add(op.side, std::max(floor, on_line(line, slope, most.value())));
      step.lowest = std::max(step.lowest, most + core::Tokens(1));
    } else {
      if (slope > core::Duration() && sloped && op.side != step.slope_kind) {
        return false;
      }
      if (slope > core::Duration()) {
        step.slope_kind = op.side;
        sloped = true;
      }
      step.base.add(op.side, line);
      step.slope = core::Duration::saturating_sum(step.slope, slope);
      step.lowest = std::max(step.lowest, crossing);
      step.highest = std::min(step.highest, most);
    }
  }
  return is_in_range(step);
}

namespace {

/// One forward pass, however its GPUs share it.
std::unique_ptr<StepTimeModel> make_pass(const ModelInputs& inputs, const Constants& constants) {
  const model::Sharding& sharding = inputs.execution.sharding;
  if (sharding.pipeline_parallel_size > 1) {
    return std::make_unique<PipelineModel>(inputs, constants);
  }
  if (sharding.prefill_context_parallel_size > 1) {
    return std::make_unique<ContextParallelModel>(inputs, constants);
  }
  return std::make_unique<KernelModel>(inputs, constants);
}

/// Every group of GPUs that exchange needs a link of known speed.
core::Result<void> check_links(const ModelInputs& inputs) {
  const std::int64_t ranks = inputs.execution.sharding.gpus();
  if (hardware::knows_link(inputs.gpu, ranks)) {
    return {};
  }
  return core::fail(core::Error{
      .code = core::ErrorCode::kUsage,
      .field = "hardware.network_bandwidth",
      .message = fmt::format("is not known of '{}', and {} of them do not stand in one node of {}",
                             inputs.gpu.name,
                             ranks,
                             inputs.gpu.gpus_per_node),
      .where = {},
      .hint = "--set hardware.network_bandwidth=50GB/s"});
}

core::Warning drafting_note(const Speculation& speculation) {
  const std::string drafter = speculation.draft == nullptr
                                  ? "a look-up in the prompt, which takes no time here"
                                  : fmt::format("a network of {:.3g} B parameters",
                                                model::total_parameters(*speculation.draft) / 1e9);
  return {.code = "W-speculative",
          .message = fmt::format("{}{} drafts a sequence and step ({}) by {}",
                                 speculation.levels.empty() ? "" : "up to ",
                                 speculation.num_speculative_tokens,
                                 speculation.method,
                                 drafter),
          .hint = "how many are accepted depends on the traffic: measure the acceptance curve"};
}

core::Result<std::unique_ptr<StepTimeModel>> make_speculative(const ModelInputs& inputs,
                                                              const Constants& constants,
                                                              const Speculation& speculation) {
  std::unique_ptr<StepTimeModel> draft;
  if (speculation.draft != nullptr) {
    if (auto cut = model::check_sharding(*speculation.draft, speculation.draft_sharding); !cut) {
      return core::fail(std::move(cut).error());
    }
    Execution alone = inputs.execution;
    alone.sharding = speculation.draft_sharding;
    alone.host_weights.reset();
    draft = std::make_unique<KernelModel>(ModelInputs{.network = *speculation.draft,
                                                      .gpu = inputs.gpu,
                                                      .execution = alone,
                                                      .options = inputs.options},
                                          constants);
  }
  return std::make_unique<SpeculativeModel>(make_pass(inputs, constants),
                                            std::move(draft),
                                            speculation.num_speculative_tokens,
                                            drafting_note(speculation),
                                            speculation.levels,
                                            speculation.chain);
}

}  // namespace

core::Result<std::unique_ptr<StepTimeModel>> make_kernel_model(const ModelInputs& inputs,
                                                               const Constants& constants) {
  const model::Sharding& sharding = inputs.execution.sharding;
  if (auto cut = model::check_sharding(inputs.network, sharding); !cut) {
    return core::fail(std::move(cut).error());
  }
  if (auto facts = check_gpu(inputs.gpu, sharding); !facts) {
    return core::fail(std::move(facts).error());
  }
  auto chosen = with_settings(constants, inputs.options.settings);
  if (!chosen) {
    return core::fail(std::move(chosen).error());
  }
  if (auto links = check_links(inputs); !links) {
    return core::fail(std::move(links).error());
  }
  auto step = inputs.execution.speculation
                  ? make_speculative(inputs, *chosen, *inputs.execution.speculation)
                  : core::Result<std::unique_ptr<StepTimeModel>>(make_pass(inputs, *chosen));
  if (const auto& host = inputs.execution.host_weights; step && host && host->copied) {
    return std::make_unique<HostWeightsModel>(std::move(*step), *host);
  }
  return step;
}

core::Result<std::unique_ptr<StepTimeModel>> make_kernel_model(const ModelInputs& inputs) {
  const std::string& file = inputs.options.constants;
  const Constants& own = constants_of_engine(inputs.execution.engine, inputs.network.family);
  if (file.empty()) {
    return make_kernel_model(inputs, own);
  }
  const auto constants = document::read_file(file).and_then(
      [&](const std::string& text) { return read_overlay(text, file, own); });
  if (!constants) {
    return core::fail(core::with_field(constants.error(), "latency.constants"));
  }
  return make_kernel_model(inputs, *constants);
}

core::Result<std::unique_ptr<StepTimeModel>> make_vllm_kernel_model(const ModelInputs& inputs) {
  return make_kernel_model(inputs, builtin_constants());
}

}  // namespace ridgeline::latency::kernel
