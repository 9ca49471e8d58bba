// H5: three ways to combine the phases of a mixed step. Its measurements are not public: what the
// arms do on synthetic steps, and on other servers' measurements where these are given.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/h5_measured.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

constexpr const char* kH5Network = "llama-2-7b";
constexpr std::int64_t kH5Prompt = 2048;

using Subjects = std::map<std::string, std::unique_ptr<Subject>>;

core::Result<Subjects> subjects_of(const Lab& lab) {
  Subjects with;
  for (const char* arm : {"default",
                          "smooth-wa",
                          "additive",
                          "default, tokens",
                          "smooth-wa, tokens",
                          "additive, tokens",
                          "later"}) {
    auto subject = lab.subject(arm, kH5Network);
    if (!subject) {
      return core::fail(std::move(subject).error());
    }
    with[arm] = std::move(*subject);
  }
  return with;
}

struct Raised {
  std::int64_t steps = 0;  ///< In which the additive form predicts more than the default.
  std::int64_t of = 0;
};

/// Mixed steps under each arm, as rows of the first table and as effects.
Raised mixed_steps(const Subjects& with, Outcome& out) {
  Raised raised;
  for (const std::int64_t decodes : {1, 8, 32, 64}) {
    for (const std::int64_t prompt : {128, 512, 2048}) {
      const Requests step{
          .decodes = std::vector<std::int64_t>(static_cast<std::size_t>(decodes), 1024),
          .prefills = {{0, prompt}}};
      std::map<std::string, std::int64_t> us;
      for (const auto& [arm, subject] : with) {
        us[arm] = subject->step_us(step);
      }
      out.tables[0].rows.push_back(row("decodes",
                                       decodes,
                                       "prompt",
                                       prompt,
                                       "default",
                                       us["default"],
                                       "smooth_wa",
                                       us["smooth-wa"],
                                       "additive",
                                       us["additive"],
                                       "default_tokens",
                                       us["default, tokens"],
                                       "smooth_wa_tokens",
                                       us["smooth-wa, tokens"],
                                       "additive_tokens",
                                       us["additive, tokens"]));
      const auto value = [&](const char* arm) { return static_cast<double>(us[arm]); };
      out.effects[0].values.emplace_back(value("default"), value("smooth-wa"));
      out.effects[1].values.emplace_back(value("default"), value("additive"));
      out.effects[2].values.emplace_back(value("default, tokens"), value("additive, tokens"));
      raised.steps += us["additive"] > us["default"] ? 1 : 0;
      ++raised.of;
    }
  }
  return raised;
}

/// The default average changes its weights at 100 tokens of prompt: one token more moves a step.
void edge_table(const Subjects& with, StudyTable& table) {
  constexpr std::size_t kDecodes = 25;
  for (const std::int64_t prompt : {100, 101}) {
    const Requests step{.decodes = std::vector<std::int64_t>(kDecodes, 1024),
                        .prefills = {{0, prompt}}};
    table.rows.push_back(row("decodes",
                             std::int64_t{kDecodes},
                             "prompt",
                             prompt,
                             "default",
                             with.at("default")->step_us(step),
                             "smooth_wa",
                             with.at("smooth-wa")->step_us(step),
                             "additive",
                             with.at("additive")->step_us(step)));
  }
}

/// Sentences of the text that the arms alone decide.
void add_h5_statements(const Outcome& out, StudyTable& table) {
  const auto& edge = out.tables[2].rows;
  const auto at = [&](std::size_t place, const char* arm) {
    return edge[place].find(arm)->as_integer();
  };
  const double jump =
      100.0 * (static_cast<double>(at(1, "default")) / static_cast<double>(at(0, "default")) - 1.0);
  /// What the study itself calls a difference, in percent.
  constexpr double kHarmless = 2.0;
  table.rows.push_back(statement("H5.4",
                                 "the edges of the default's branches do no harm",
                                 std::abs(jump) < kHarmless,
                                 fmt::format("one token more moves the step from {} to {} us "
                                             "({:+.1f} %; smooth: {} to {})",
                                             at(0, "default"),
                                             at(1, "default"),
                                             jump,
                                             at(0, "smooth_wa"),
                                             at(1, "smooth_wa"))));
  std::vector<double> apart;
  for (const auto& [usual, smooth] : out.effects[0].values) {
    const double away = 100.0 * std::abs(smooth / usual - 1.0);
    if (away >= kHarmless) {
      apart.push_back(away);
    }
  }
  table.rows.push_back(statement("H5.5",
                                 "weighting by tokens gives what the default gives",
                                 apart.empty(),
                                 apart.empty()
                                     ? "no step differs by 2 %"
                                     : fmt::format("{:.0f} to {:.0f} % apart in {} of {} steps",
                                                   *std::ranges::min_element(apart),
                                                   *std::ranges::max_element(apart),
                                                   apart.size(),
                                                   out.effects[0].values.size())));
}

core::Result<Outcome> run_h5(const Lab& lab) {
  auto loaded = subjects_of(lab);
  if (!loaded) {
    return core::fail(std::move(loaded).error());
  }
  const Subjects& with = *loaded;
  Outcome out;
  out.tables = {{"mixed_steps", {}}, {"prefill", {}}, {"branch_edge", {}}, {"statements", {}}};
  out.effects = {{.name = "weighting by tokens, as run", .values = {}},
                 {.name = "the additive form, as run", .values = {}},
                 {.name = "the additive form, with tokens in prefill", .values = {}}};
  const Raised raised = mixed_steps(with, out);
  const Requests prompt{.prefills = {{0, kH5Prompt}}};
  const std::int64_t as_run = with.at("default")->step_us(prompt);
  const std::int64_t tokens = with.at("later")->step_us(prompt);
  out.tables[1].rows.push_back(row("prompt", kH5Prompt, "as_run_us", as_run, "later_us", tokens));
  out.by_rule = Verdict::kUndecided;
  edge_table(with, out.tables[2]);
  add_h5_statements(out, out.tables[3]);
  out.because = "each of its three criteria needs measured latencies, which were not published";
  out.finding = fmt::format(
      "The published refutation is void. The code under test priced a prompt's GEMMs with a row "
      "per request and its attention with one query: {} tokens took {} us, and {} us when they "
      "were counted. Nor does the published mechanism (larger GEMMs, higher MFU, shorter steps) "
      "hold: the additive form raises {} of {} steps.",
      kH5Prompt,
      as_run,
      tokens,
      raised.steps,
      raised.of);
  for (const auto judge : {h5::judge_one_client, h5::judge_on_servers}) {
    if (const auto judged = judge(lab, out); !judged) {
      return core::fail(judged.error());
    }
  }
  h5::add_classification(out);
  return out;
}

Arm h5_arm(const char* name, const char* preset, bool tokens) {
  Arm arm{.name = name, .preset = preset, .settings = {constants("h100-final")}};
  if (tokens) {
    arm.settings.push_back(setting("prefill_m", "tokens"));
    arm.settings.push_back(setting("attention_length", "actual"));
  }
  return arm;
}

std::vector<Arm> h5_arms() {
  std::vector<Arm> arms = {h5_arm("default", "v2-h5-default", false),
                           h5_arm("smooth-wa", "v2-h5-smoothwa", false),
                           h5_arm("additive", "v2-h5-additive", false),
                           h5_arm("default, tokens", "v2-h5-default", true),
                           h5_arm("smooth-wa, tokens", "v2-h5-smoothwa", true),
                           h5_arm("additive, tokens", "v2-h5-additive", true),
                           h5_arm("later", "v2-h29", false)};
  const auto measured = h5::measured_arms();
  arms.insert(arms.end(), measured.begin(), measured.end());
  return arms;
}

}  // namespace

Study study_h5() {
  return {
      .id = "h5",
      .title = "Mixed steps: weighted or additive",
      .claim =
          "GEMMs over all tokens with both attentions added predict mixed steps better "
          "than a weighted average of the phases.",
      .arms = h5_arms(),
      .held_fixed =
          "Llama-2-7B, one GPU, one prompt of 128 to 2,048 tokens beside 1 to 64 "
          "decodes of 1,024; on measured servers v2-final",
      .refuted_if =
          "against measured latencies the additive form does not lower the mean error by 2 "
          "points, or gains no more at high load than at low, or changes it at one client",
      .controls =
          "the same arms with token counts in prefill; on servers, constant MFUs and weights "
          "read once",
      .reference = Reference::kMeasured,
      .published = Verdict::kRefuted,
      .scope = "step times of the arms; with --measured, mean times per output token of servers",
      .not_tested =
          "single measured steps, mixtures of experts, other GPUs; without --measured, the "
          "claim",
      .run = run_h5};
}

}  // namespace ridgeline::studies
