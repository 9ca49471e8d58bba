#include "evidence/validate/step_truth.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/gzip.hpp"
#include "domain/step.hpp"
#include "evidence/validate/evidence_limits.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/result_document.hpp"

namespace ridgeline::evidence::validate {
namespace {

constexpr double kUsPerSecond = 1e6;
constexpr double kUsPerMs = 1e3;

/// The number right behind `mark` in a line.
std::optional<double> number_behind(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view text = line.substr(at + mark.size());
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The number right before `mark`: "4 generation requests".
std::optional<double> number_before(std::string_view line, std::string_view mark) {
  const std::size_t end = line.find(mark);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  return number_behind(line.substr(begin), "");
}

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::floor(value + 0.5));
}

/// `chunks` prompts that share tokens and what stands before them evenly.
std::vector<domain::PrefillChunk> even_chunks(double chunks, double new_tokens, double past) {
  std::vector<domain::PrefillChunk> all;
  const auto count = std::min<std::int64_t>(whole(chunks), whole(new_tokens));
  for (std::int64_t i = 0; i < count; ++i) {
    // The remainders go to the first chunks.
    const auto share = [&](double tokens) {
      return whole(tokens) / count + (i < whole(tokens) % count ? 1 : 0);
    };
    all.push_back(
        {.past = core::Tokens(share(past)), .new_tokens = core::Tokens(share(new_tokens))});
  }
  return all;
}

class StepReader {
 public:
  explicit StepReader(std::int64_t context) : context_(context) {}

  void read(std::string_view line, std::int64_t number, const std::string& path) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      return;
    }
    if (line[begin] == '{') {
      if (const auto node = parse_result(line, path)) {
        read_object(*node, number);
      }
    } else if (line.find("iteration elapsed time: ") != std::string_view::npos) {
      read_iteration(line, number);
    } else if (line.find("Prefill batch") != std::string_view::npos) {
      after_prefill_ = true;
      ++prefill_lines_;
    } else if (line.find("Decode batch") != std::string_view::npos) {
      read_decode_batch(line, number);
    }
  }

  StepTruth take() {
    if (unknown_context_) {
      truth_.assumed.push_back(fmt::format(
          "{} tokens before each decode, and none before a chunk: the log does not say them "
          "(--step-context)",
          context_));
    }
    if (truth_.form == "sglang") {
      truth_.assumed.emplace_back(
          "a step is running requests / gen throughput: the mean of SGLang's log interval");
      truth_.left_out.push_back(fmt::format(
          "{} lines of prefill batches, which state no time of their own, and {} of decodes right "
          "behind one, whose interval holds it",
          prefill_lines_,
          behind_prefill_));
    }
    if (bad_ > 0) {
      truth_.left_out.push_back(
          fmt::format("{} lines without a positive time or without a token, the first is line {}",
                      bad_,
                      first_bad_));
    }
    return std::move(truth_);
  }

 private:
  void add(const char* form, MeasuredStep step) {
    const bool is_sound =
        std::isfinite(step.us) && step.us > 0.0 && (step.num_decodes > 0 || !step.prefills.empty());
    if (!is_sound) {
      first_bad_ = bad_ == 0 ? step.line : first_bad_;
      ++bad_;
      return;
    }
    truth_.form = form;
    truth_.with_host = truth_.form != "ridgeline";
    truth_.steps.push_back(std::move(step));
  }

  void read_object(const document::Node& node, std::int64_t number) {
    if (number_at(node, "num_decodes") && number_at(node, "busy_us")) {
      read_own(node, number);
      return;
    }
    for (const char* wrapped : {"", "event", "data", "metrics"}) {
      const document::Node* inner = *wrapped == '\0' ? &node : member_at(node, wrapped);
      if (inner != nullptr && member_at(*inner, "scheduled_requests") != nullptr &&
          number_at(*inner, "wall_time")) {
        read_forward_pass(*inner, number);
        return;
      }
    }
  }

  void read_own(const document::Node& node, std::int64_t number) {
    const double steps = std::max(1.0, number_at(node, "steps").value_or(1.0));
    MeasuredStep step{.line = number,
                      .us = *number_at(node, "busy_us") / steps,
                      .num_decodes = count_at(node, "num_decodes").value_or(0)};
    // A line of several steps stands for the one in the middle.
    const double grown = core::real(step.num_decodes) * (steps - 1.0) / 2.0;
    step.decode_context =
        core::Tokens(whole(number_at(node, "decode_context").value_or(0.0) + grown));
    for (const auto& chunk : items_at(node, "prefills")) {
      if (chunk.is_list() && chunk.items().size() == 2 && chunk.items()[0].is_number() &&
          chunk.items()[1].is_number()) {
        step.prefills.push_back({.past = core::Tokens(whole(chunk.items()[0].as_real())),
                                 .new_tokens = core::Tokens(whole(chunk.items()[1].as_real()))});
      }
    }
    add("ridgeline", std::move(step));
  }

  void read_forward_pass(const document::Node& node, std::int64_t number) {
    const document::Node& batch = *member_at(node, "scheduled_requests");
    const auto of = [&](const char* key) { return number_at(batch, key).value_or(0.0); };
    if (of("num_prefill_requests") + of("num_decode_requests") == 0.0) {
      return;  // A sign of life while nothing runs.
    }
    add("forward-pass-metrics",
        {.line = number,
         .us = *number_at(node, "wall_time") * kUsPerSecond,
         .num_decodes = whole(of("num_decode_requests")),
         .decode_context = core::Tokens(whole(of("sum_decode_kv_tokens"))),
         .prefills = even_chunks(
             of("num_prefill_requests"), of("sum_prefill_tokens"), of("sum_prefill_kv_tokens"))});
  }

  void read_iteration(std::string_view line, std::int64_t number) {
    const auto before = [&](std::string_view mark) {
      return number_before(line, mark).value_or(0.0);
    };
    const double decodes = before(" generation requests");
    unknown_context_ = true;
    add("vllm-iterations",
        {.line = number,
         .us = number_behind(line, "iteration elapsed time: ").value_or(0.0) * kUsPerMs,
         .num_decodes = whole(decodes),
         .decode_context = core::Tokens(whole(decodes) * context_),
         .prefills = even_chunks(before(" context requests"), before(" context tokens"), 0.0)});
  }

  void read_decode_batch(std::string_view line, std::int64_t number) {
    if (std::exchange(after_prefill_, false)) {
      ++behind_prefill_;
      return;
    }
    const double running = number_behind(line, "#running-req: ").value_or(0.0);
    const double rate = number_behind(line, "gen throughput (token/s): ").value_or(0.0);
    const double at_once = number_behind(line, "accept len: ").value_or(1.0);
    const auto all_tokens = number_behind(line, "#full token: ");
    const double tokens = all_tokens ? *all_tokens : number_behind(line, "#token: ").value_or(0.0);
    add("sglang",
        {.line = number,
         .us = rate > 0.0 ? running * at_once / rate * kUsPerSecond : 0.0,
         .num_decodes = whole(running),
         .decode_context = core::Tokens(whole(tokens))});
  }

  std::int64_t context_;
  StepTruth truth_;
  bool unknown_context_ = false;
  bool after_prefill_ = false;
  std::int64_t prefill_lines_ = 0;
  std::int64_t behind_prefill_ = 0;
  std::int64_t bad_ = 0;
  std::int64_t first_bad_ = 0;
};

}  // namespace

domain::StepBatch MeasuredStep::batch(std::vector<core::Tokens>& lengths) const {
  lengths.clear();
  const std::int64_t tokens = decode_context.value();
  for (std::int64_t i = 0; i < num_decodes; ++i) {
    lengths.emplace_back(tokens / num_decodes + (i < tokens % num_decodes ? 1 : 0));
  }
  return {.num_decodes = num_decodes,
          .decode_context = decode_context,
          .shared_context = {},
          .decode_lengths = lengths,
          .prefills = prefills};
}

const char* MeasuredStep::phase() const {
  return prefills.empty() ? "decode" : num_decodes == 0 ? "prefill" : "mixed";
}

std::int64_t MeasuredStep::sequences() const {
  return num_decodes + std::ssize(prefills);
}

double MeasuredStep::mean_context() const {
  std::int64_t tokens = decode_context.value();
  for (const auto& chunk : prefills) {
    tokens += chunk.past.value() + chunk.new_tokens.value();
  }
  return core::real(tokens) / core::real(std::max<std::int64_t>(1, sequences()));
}

core::Result<std::optional<StepTruth>> read_step_truth(const std::string& path,
                                                       std::int64_t context) {
  const auto text = document::read_unpacked(path, kMostFileBytes);
  if (!text) {
    return core::fail(text.error());
  }
  StepReader reader(context);
  std::int64_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    reader.read(next_line(rest), ++number, path);
  }
  StepTruth truth = reader.take();
  return truth.steps.empty() ? std::optional<StepTruth>() : std::optional(std::move(truth));
}

}  // namespace ridgeline::evidence::validate
