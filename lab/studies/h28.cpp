// H28: does a batch of decodes cost what its longest context makes it cost?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/table_mfu.hpp"

namespace ridgeline::studies {
namespace {

constexpr std::int64_t kLongContext = 4096;
constexpr std::int64_t kShortContext = 64;
constexpr std::int64_t kLargestBatch = 16;
/// FLOP/s of the fixture.
constexpr double kTestPeak = 989e12;
/// Attention FLOPs of one decode over one token of context in Llama-3.1-8B: QK^T and AV, 32 heads
/// of 128, 32 layers.
constexpr std::int64_t kFlopsPerContextToken = std::int64_t{4} * 32 * 128 * 32;

std::vector<std::int64_t> uneven(std::int64_t batch) {
  std::vector<std::int64_t> contexts(static_cast<std::size_t>(batch), kShortContext);
  contexts.front() = kLongContext;
  return contexts;
}

std::vector<std::int64_t> even(std::int64_t batch) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(batch), kShortContext);
}

std::int64_t context_sum(const std::vector<std::int64_t>& contexts) {
  std::int64_t sum = 0;
  for (const std::int64_t context : contexts) {
    sum += context;
  }
  return sum;
}

/// Attention FLOPs that a step was charged for, out of the model's own time and MFU.
std::int64_t charged_flops(const Subject& subject, const std::vector<std::int64_t>& contexts) {
  const auto& source = subject.roofline()->table_formulas()->source();
  const double mfu = source.decode(std::ssize(contexts), *std::ranges::max_element(contexts)).mfu;
  return std::llround(subject.cost({.decodes = contexts}).decode.attention * kTestPeak * mfu);
}

document::Node components(const Subject& subject, const std::vector<std::int64_t>& contexts) {
  constexpr double kMicros = 1e6;
  const auto phase = subject.cost({.decodes = contexts}).decode;
  return row("gemm",
             phase.gemm * kMicros,
             "attn",
             phase.attention * kMicros,
             "mem",
             phase.memory() * kMicros);
}

struct H28Subjects {
  std::unique_ptr<Subject> published;
  std::unique_ptr<Subject> summed;
  std::unique_ptr<Subject> shipped;
  std::unique_ptr<Subject> floor;
};

/// What attention is charged for beside what it does.
document::Node flops_row(const Subject& published, const std::vector<std::int64_t>& contexts) {
  const auto batch = std::ssize(contexts);
  const std::int64_t charged = charged_flops(published, contexts);
  const std::int64_t own = kShortContext * kFlopsPerContextToken;
  return row("batch_size",
             batch,
             "roofline_attn_flops",
             charged,
             "ideal_attn_flops",
             context_sum(contexts) * kFlopsPerContextToken,
             "overestimation",
             static_cast<double>(batch * kLongContext) / static_cast<double>(context_sum(contexts)),
             "charged_to_a_short_request_over_its_own",
             static_cast<double>(charged) / static_cast<double>(batch * own));
}

void add_batch(const H28Subjects& with, std::int64_t batch, Outcome& out) {
  const auto mixed = uneven(batch);
  const auto alike = even(batch);
  const std::int64_t hetero = with.published->step_us({.decodes = mixed});
  const std::int64_t homo = with.published->step_us({.decodes = alike});
  const std::int64_t summed = with.summed->step_us({.decodes = mixed});
  const double excess =
      static_cast<double>(batch * kLongContext) / static_cast<double>(context_sum(mixed));
  const bool printed = (batch & (batch - 1)) == 0;
  if (printed) {
    out.tables[0].rows.push_back(row("batch_size",
                                     batch,
                                     "hetero_us",
                                     hetero,
                                     "homo_us",
                                     homo,
                                     "ratio",
                                     static_cast<double>(hetero) / static_cast<double>(homo),
                                     "overestimation",
                                     excess));
  }
  if (printed && batch > 1) {
    out.tables[1].rows.push_back(flops_row(*with.published, mixed));
  }
  out.tables[4].rows.push_back(
      row("batch_size",
          batch,
          "hetero_us",
          hetero,
          "hetero_if_sum_flops_same_mfu_us",
          summed,
          "homo_us",
          homo,
          "ratio",
          static_cast<double>(hetero) / static_cast<double>(homo),
          "overestimate_due_to_maxkv_pct",
          100.0 * (static_cast<double>(hetero) / static_cast<double>(summed) - 1.0),
          "v2_final_hetero_us",
          with.shipped->step_us({.decodes = mixed}),
          "v2_final_homo_us",
          with.shipped->step_us({.decodes = alike}),
          "components_us",
          row("hetero",
              components(*with.published, mixed),
              "homo",
              components(*with.published, alike))));
  out.tables[5].rows.push_back(row("batch_size",
                                   batch,
                                   "floor_lookup_hetero",
                                   with.floor->step_us({.decodes = mixed}),
                                   "floor_lookup_homo",
                                   with.floor->step_us({.decodes = alike})));
  out.effects.front().values.emplace_back(static_cast<double>(summed), static_cast<double>(hetero));
}

void add_sweep(const Subject& published, Outcome& out) {
  for (const bool mixed : {true, false}) {
    for (std::int64_t batch = 1; batch <= kLargestBatch; ++batch) {
      const auto contexts = mixed ? uneven(batch) : even(batch);
      out.tables[2].rows.push_back(row("batch_type",
                                       mixed ? "heterogeneous" : "homogeneous",
                                       "batch_size",
                                       batch,
                                       "kv",
                                       contexts,
                                       "computed_us",
                                       published.step_us({.decodes = contexts})));
    }
  }
}

/// The text's sentences about how the ratio and the cost of one more short request grow.
void add_statements(const Subject& published,
                    const std::vector<std::int64_t>& marginal,
                    Outcome& out) {
  constexpr std::int64_t kFrom = 5;
  std::vector<std::string> falls;
  double before = 0.0;
  for (std::int64_t batch = kFrom; batch <= kLargestBatch; ++batch) {
    const double ratio = static_cast<double>(published.step_us({.decodes = uneven(batch)})) /
                         static_cast<double>(published.step_us({.decodes = even(batch)}));
    if (ratio < before) {
      falls.push_back(fmt::format("{:.3f} at {}", ratio, batch));
    }
    before = ratio;
  }
  auto& rows = out.tables[6].rows;
  rows.push_back(statement(
      "H28.3",
      "the ratio increases consistently from a batch of 5",
      falls.empty(),
      falls.empty() ? "it never falls" : fmt::format("it falls to {}", fmt::join(falls, ", "))));
  const bool rising = std::ranges::is_sorted(marginal);
  rows.push_back(statement(
      "H28.1",
      "each further short request costs more, the tenth 30 times the first",
      rising,
      fmt::format(
          "in us: {}; the dearest comes as request {}",
          fmt::join(marginal, ", "),
          2 + std::ranges::distance(marginal.begin(), std::ranges::max_element(marginal)))));
}

std::vector<std::int64_t> add_claims(const Subject& published, Outcome& out) {
  std::vector<std::int64_t> marginal;
  for (std::int64_t batch = 1; batch < kLargestBatch; ++batch) {
    marginal.push_back(published.step_us({.decodes = uneven(batch + 1)}) -
                       published.step_us({.decodes = uneven(batch)}));
  }
  out.tables[3].rows.push_back(
      row("claim", "marginal cost of the 1st short request", "computed", marginal[0]));
  out.tables[3].rows.push_back(
      row("claim", "marginal cost of the 10th short request", "computed", marginal[9]));
  out.tables[3].rows.push_back(
      row("claim", "marginal cost of each short request", "computed", marginal));
  return marginal;
}

/// The published rule has two parts: what is charged, and that a step shows it.
void judge_h28(const H28Subjects& with, Outcome& out) {
  bool longest_for_all = true;
  for (std::int64_t batch = 2; batch <= kLargestBatch; ++batch) {
    longest_for_all = longest_for_all && charged_flops(*with.published, uneven(batch)) ==
                                             batch * kLongContext * kFlopsPerContextToken;
  }
  const std::int64_t hetero = with.published->step_us({.decodes = uneven(kLargestBatch)});
  const std::int64_t homo = with.published->step_us({.decodes = even(kLargestBatch)});
  const std::int64_t summed = with.summed->step_us({.decodes = uneven(kLargestBatch)});
  const auto over = [&](std::int64_t other) {
    return 100.0 * (static_cast<double>(hetero) / static_cast<double>(other) - 1.0);
  };
  out.by_rule = longest_for_all && hetero > homo ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format(
      "attention is {}charged for batch times the longest context at batch 2 to {}, and at {} the "
      "uneven batch takes {} us against {} us of the even one, {:.1f} % more",
      longest_for_all ? "" : "not ",
      kLargestBatch,
      kLargestBatch,
      hetero,
      homo,
      over(homo));
  out.finding = fmt::format(
      "The two batches differ in work, so that {:.1f} % is not the error. Against the same batch "
      "with FLOPs summed ({} us) the longest context for all costs {:.1f} %. Attention reads each "
      "sequence's own KV; its cost is additive in the contexts.",
      over(homo),
      summed,
      over(summed));
}

core::Result<Outcome> run_h28(const Lab& lab) {
  H28Subjects with;
  for (auto [arm, place] : {std::pair("max", &with.published),
                            std::pair("sum", &with.summed),
                            std::pair("shipped", &with.shipped),
                            std::pair("max, floor", &with.floor)}) {
    auto subject = lab.subject(arm);
    if (!subject) {
      return core::fail(std::move(subject).error());
    }
    *place = std::move(*subject);
  }
  Outcome out;
  out.tables = {{"key_data", {}},
                {"attention_flops", {}},
                {"archived_csv_32rows", {}},
                {"claims", {}},
                {"decomposition", {}},
                {"sensitivity", {}},
                {"statements", {}}};
  out.effects.push_back({.name = "the longest context for all", .values = {}});
  for (std::int64_t batch = 1; batch <= kLargestBatch; ++batch) {
    add_batch(with, batch, out);
  }
  add_sweep(*with.published, out);
  add_statements(*with.published, add_claims(*with.published, out), out);
  judge_h28(with, out);
  return out;
}

}  // namespace

Study study_h28() {
  return {.id = "h28",
          .title = "Decode attention by the longest context",
          .claim =
              "Every decode of a batch is charged for the longest context, which overestimates "
              "uneven batches.",
          .arms = {{.name = "max", .preset = "v2-h29", .settings = {constants("h100-test")}},
                   {.name = "sum",
                    .preset = "v2-h29",
                    .settings = {constants("h100-test"), setting("decode_attention", "sum")}},
                   {.name = "shipped", .preset = "v2-final", .settings = {constants("h100-test")}},
                   {.name = "max, floor",
                    .preset = "v2-h29",
                    .settings = {constants("h100-test")},
                    .lookup = "floor"}},
          .held_fixed =
              "Llama-3.1-8B, one GPU, decode only: one context of 4,096 among contexts of "
              "64 against all of 64; batch 1 to 16.",
          .refuted_if =
              "attention is charged for less than batch times the longest context, or the uneven "
              "batch of 16 takes no longer than the even one",
          .controls = "batch 1, where nothing can be uneven; look-ups of the row below",
          .reference = Reference::kModel,
          .published = Verdict::kConfirmed,
          .scope = "step times of the model; batches of up to 16",
          .not_tested = "a measured step",
          .run = run_h28};
}

}  // namespace ridgeline::studies
