// H29: the text's ways out, its sentences and its verdict.
#include "lab/studies/h29_answers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies::h29 {
namespace {

/// The length at which the study's own rule is decided.
constexpr std::int64_t kDecisiveLength = 100;
constexpr double kDecisiveRatio = 2.0;
/// Short prompts of the text, and the plateau that it names.
constexpr std::int64_t kShortPrompt = 100;
constexpr std::int64_t kPlateauFrom = 8;
constexpr std::int64_t kPlateauTo = 64;

}  // namespace

void options_table(const Subjects& with, StudyTable& table) {
  for (const auto& [name, subject] : std::initializer_list<std::pair<const char*, const Subject*>>{
           {"bucket of 512", with.bucketed.get()},
           {"A: least bucket of 64", with.least_64.get()},
           {"A: least bucket of 128", with.least_128.get()},
           {"B: actual length", with.actual.get()},
           {"C: actual length, no less than 64", with.hybrid.get()}}) {
    table.rows.push_back(row("option",
                             name,
                             "seq_len",
                             kDecisiveLength,
                             "step",
                             PromptCost(*subject, kDecisiveLength).step));
  }
}

void waste_table(const Subjects& with, StudyTable& table) {
  for (const std::int64_t length : {513, 1000, 1500, 2047}) {
    const auto added = [](std::int64_t more, std::int64_t than) {
      return 100.0 * (ratio_of(more, than) - 1.0);
    };
    table.rows.push_back(
        row("seq_len",
            length,
            "bucket",
            bucket_for(length),
            "added_to_length_pct",
            added(bucket_for(length), length),
            "added_to_step_pct",
            added(PromptCost(*with.bucketed, length).step, PromptCost(*with.actual, length).step)));
  }
  // Lengths that are all as frequent, in one bucket.
  double sum = 0.0;
  for (std::int64_t length = kFirstBucket + 1; length <= 2 * kFirstBucket; ++length) {
    sum += 100.0 * (ratio_of(bucket_for(length), length) - 1.0);
  }
  table.rows.push_back(row("seq_len",
                           fmt::format("{} to {}", kFirstBucket + 1, 2 * kFirstBucket),
                           "bucket",
                           2 * kFirstBucket,
                           "added_to_length_pct",
                           sum / static_cast<double>(kFirstBucket),
                           "added_to_step_pct",
                           document::Node()));
}

void add_statements(const Subject& bucketed, StudyTable& table) {
  const std::int64_t whole = PromptCost(bucketed, kFirstBucket).step;
  std::int64_t within_from = 0;
  std::int64_t last_memory_bound = 0;
  double most_attention = 0.0;
  for (std::int64_t length = kFirstBucket; length >= 1; --length) {
    const PromptCost prompt(bucketed, length);
    if (prompt.step * kFirstBucket <= static_cast<std::int64_t>(kDecisiveRatio) * whole * length) {
      within_from = length;
    }
    last_memory_bound =
        prompt.memory_bound() ? std::max(last_memory_bound, length) : last_memory_bound;
    const auto& phase = prompt.cost.prefill;
    most_attention = std::max(most_attention, phase.attention / phase.compute());
  }
  table.rows.push_back(statement("H29.3",
                                 "over twice the line up to 100 tokens, within it from 200",
                                 within_from > 100 && within_from <= 200,
                                 fmt::format("within it from {} tokens", within_from)));
  table.rows.push_back(statement("H29.3",
                                 "memory-bound at 1 to 4 tokens only",
                                 last_memory_bound >= 4 && last_memory_bound < 8,
                                 fmt::format("up to {} tokens", last_memory_bound)));
  constexpr double kHalf = 0.5;
  table.rows.push_back(statement("H29.5",
                                 "attention is about half of compute in the bucket of 512",
                                 most_attention >= kHalf,
                                 fmt::format("at most {:.1f} %", 100.0 * most_attention)));
  // The document's figures, held to one unit of the last digit that it prints.
  constexpr double kSaidFrom = 1.5;
  constexpr double kSaidTo = 64.0;
  const double from = 100.0 * ratio_of(kPlateauFrom, kFirstBucket);
  const double to = 100.0 * ratio_of(kPlateauTo, kFirstBucket);
  table.rows.push_back(statement("H29.5",
                                 "the plateau of 8 to 64 tokens is 1.5 to 64 % of the bucket",
                                 std::abs(from - kSaidFrom) <= 0.1 && std::abs(to - kSaidTo) <= 1.0,
                                 fmt::format("{:.1f} to {:.1f} %", from, to)));
}

void cause_tables(const Subjects& with, StudyTable& causes, StudyTable& break_even) {
  const PromptCost bucketed(*with.bucketed, kDecisiveLength);
  const PromptCost actual(*with.actual, kDecisiveLength);
  const PromptCost whole(*with.bucketed, kFirstBucket);
  const double linear = static_cast<double>(whole.step) * ratio_of(kDecisiveLength, kFirstBucket);
  const auto step = [&](const char* name, const std::string& found, bool supports) {
    causes.rows.push_back(row("step", name, "found", found, "supports_the_bucket", supports));
  };
  step("RCV-1: where",
       fmt::format("attention of {} tokens is charged for {}; products and bytes are not",
                   kDecisiveLength,
                   bucket_for(kDecisiveLength)),
       true);
  const double added =
      (bucketed.cost.prefill.attention - actual.cost.prefill.attention) * kMicrosPerSecond;
  step("RCV-2: how large",
       fmt::format("it adds {:.0f} us to a step of {} us", added, actual.step),
       ratio_of(bucketed.step, actual.step) > kDecisiveRatio);
  step("RCV-3: which way",
       fmt::format("the step is {:.2f} times the line through {} tokens, and {:.4f} times itself "
                   "without the bucket",
                   static_cast<double>(bucketed.step) / linear,
                   kFirstBucket,
                   ratio_of(bucketed.step, actual.step)),
       ratio_of(bucketed.step, actual.step) > kDecisiveRatio);
  const std::int64_t from = PromptCost(*with.actual, kPlateauFrom).step;
  const std::int64_t to = PromptCost(*with.actual, kPlateauTo).step;
  constexpr double kFlat = 1.1;
  const bool flat = std::max(ratio_of(to, from), ratio_of(from, to)) <= kFlat;
  step("RCV-4: without it",
       fmt::format("with actual lengths {} and {} tokens still take {} and {} us: the plateau {}",
                   kPlateauFrom,
                   kPlateauTo,
                   from,
                   to,
                   flat ? "stays" : "goes"),
       !flat);
  std::int64_t within_from = 0;
  std::int64_t computes_from = 0;
  for (std::int64_t length = kFirstBucket; length >= 1; --length) {
    const PromptCost prompt(*with.bucketed, length);
    const bool within = prompt.step * kFirstBucket <=
                        static_cast<std::int64_t>(kDecisiveRatio) * whole.step * length;
    within_from = within ? length : within_from;
    computes_from = prompt.memory_bound() ? computes_from : length;
  }
  const auto add = [&](const char* what, std::int64_t tokens) {
    break_even.rows.push_back(row("what", what, "from_tokens", tokens));
  };
  add("the step is within twice the line through 512 tokens", within_from);
  add("compute takes as long as memory", computes_from);
}

void judge(const Subjects& with, double inside, double beyond, Outcome& out) {
  const PromptCost bucketed(*with.bucketed, kDecisiveLength);
  const std::int64_t actual = PromptCost(*with.actual, kDecisiveLength).step;
  const double inflation = ratio_of(bucketed.step, actual);
  const bool within_twice = inflation <= kDecisiveRatio;
  const bool memory_bound = std::ranges::all_of(kSweep, [&](std::int64_t length) {
    return length > kShortPrompt || PromptCost(*with.bucketed, length).memory_bound();
  });
  out.by_rule = within_twice || memory_bound ? Verdict::kRefuted : Verdict::kConfirmed;
  out.because = fmt::format(
      "the first condition is {}met: {} tokens take {} us bucketed and {} us with the actual "
      "length, {:.4f} times; the second is {}met: prompts of up to {} tokens are {}all "
      "memory-bound",
      within_twice ? "" : "not ",
      kDecisiveLength,
      bucketed.step,
      actual,
      inflation,
      memory_bound ? "" : "not ",
      kShortPrompt,
      memory_bound ? "" : "not ");
  const std::int64_t from = PromptCost(*with.bucketed, kPlateauFrom).step;
  const std::int64_t to = PromptCost(*with.bucketed, kPlateauTo).step;
  const auto& phase = PromptCost(*with.bucketed, kPlateauTo).cost.prefill;
  out.finding = fmt::format(
      "Of {} us at {} tokens attention is {:.0f} us. From {} to {} tokens the step takes {} to {} "
      "us, of which products are {:.0f} %: the weights are read once for any number of rows, which "
      "is physical. Bucketing adds at most {:.1f} % up to 2,048 tokens and {:.1f} % up to 65,536: "
      "use the actual length, for the long prompts.",
      bucketed.step,
      kDecisiveLength,
      bucketed.cost.prefill.attention * kMicrosPerSecond,
      kPlateauFrom,
      kPlateauTo,
      from,
      to,
      100.0 * phase.gemm / phase.compute(),
      100.0 * (inside - 1.0),
      100.0 * (beyond - 1.0));
}

}  // namespace ridgeline::studies::h29
