#include "report/finding.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/html_page.hpp"
#include "report/html_report.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using figures::number_at;

/// Text for a name of domain::kBottleneckNames.
std::string_view bottleneck_text(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTexts = {
      {{"memory", "Memory bandwidth"},
       {"compute", "Arithmetic"},
       {"network", "The network between GPUs"},
       {"overhead", "Launches and the host"}}};
  for (const auto& [key, text] : kTexts) {
    if (key == name) {
      return text;
    }
  }
  return "";
}

/// "hour" of 3,540 seconds: windows do not end with the hour.
std::string_view length_text(double seconds) {
  constexpr double kNearly = 0.8;
  constexpr std::array<std::pair<double, std::string_view>, 4> kLengths = {
      {{3600.0, "hour"}, {600.0, "ten minutes"}, {60.0, "minute"}, {10.0, "ten seconds"}}};
  for (const auto& [length, text] : kLengths) {
    if (seconds >= kNearly * length) {
      return text;
    }
  }
  return "second";
}

/// The latencies whose targets were missed: "TTFT", "TPOT", ...
std::vector<std::string> missed_targets(const Node& result) {
  std::vector<std::string> names;
  const Node* const slo = at_path(result, "summary.slo");
  if (slo == nullptr || !slo->is_map()) {
    return names;
  }
  for (const auto& member : slo->members()) {
    const Node* const met = member.value.find("met");
    if (met != nullptr && !met->is_null() && !met->as_bool()) {
      names.push_back(upper(member.key));
    }
  }
  return names;
}

/// What the worst stretch's load did to its requests.
std::string_view cause(const Node& result, const std::vector<std::string>& missed) {
  constexpr double kFull = 0.9;
  constexpr double kMore = 1.25;
  const double running = number_at(result, "findings.worst.running");
  const double instances = number_at(result, "series.instances", 1.0);
  if (number_at(result, "findings.worst.preemptions") > 0.0 ||
      number_at(result, "findings.worst.kv_share") >= kFull) {
    return "the KV cache was full";
  }
  if (number_at(result, "findings.worst.waiting") >= running * instances) {
    return "requests waited for a place in the batch";
  }
  if (missed == std::vector<std::string>{"TTFT"}) {
    return "prompts took that long beside what else ran; hardly any request waited for its first "
           "step";
  }
  return running >= kMore * number_at(result, "findings.whole.running")
             ? "more requests ran at once, so that each step took longer"
             : "steps took that long; no part of the run stands out";
}

std::string worst_html(const Node& result) {
  const auto number = [&](std::string_view key) {
    return number_html(result, fmt::format("findings.worst.{}", key));
  };
  const double misses = number_at(result, "findings.worst.missed");
  std::string html = fmt::format("{} {}, from {} to {} of the run: ",
                                 misses > 0.0 ? "Worst" : "Busiest",
                                 length_text(number_at(result, "findings.worst.to_s") -
                                             number_at(result, "findings.worst.from_s")),
                                 number("from_s"),
                                 number("to_s"));
  if (misses > 0.0) {
    html += fmt::format("{} of {} requests ({}) missed a target, with ",
                        number("missed"),
                        number("requests"),
                        number("missed_share"));
  }
  html += fmt::format("{} requests running ({} over the whole run) and {} waiting on average",
                      number("running"),
                      number_html(result, "findings.whole.running"),
                      number("waiting"));
  if (number_at(result, "findings.worst.kv_share", -1.0) >= 0.0) {
    html += fmt::format(", {} of the KV cache in use", number("kv_share"));
  }
  return html + ". ";
}

}  // namespace

std::string finding_html(const Node& result) {
  const Node* const worst = at_path(result, "findings.worst");
  const bool has_worst = worst != nullptr && worst->is_map();
  std::string html;
  if (const auto missed = missed_targets(result); !missed.empty() && has_worst) {
    html += fmt::format("{} missed {}: {}. ",
                        fmt::join(missed, " and "),
                        missed.size() == 1 ? "its target" : "their targets",
                        cause(result, missed));
  }
  if (has_worst) {
    html += worst_html(result);
  }
  const std::string bottleneck = text_at(result, "findings.whole.bottleneck");
  if (!bottleneck.empty()) {
    html += fmt::format("{} held steps up for {} of the time in which they ran",
                        bottleneck_text(bottleneck),
                        number_html(result, "findings.whole.bottleneck_share"));
    const std::string there = text_at(result, "findings.worst.bottleneck");
    const std::string share = number_html(result, "findings.worst.bottleneck_share");
    if (there == bottleneck) {
      html += fmt::format(", and for {} of it in that stretch", share);
    } else if (!there.empty()) {
      html += fmt::format("; in that stretch {} did, for {}", there, share);
    }
    html += ".";
  }
  return html.empty() ? html : "<p class=\"finding\">" + html + "</p>\n";
}

}  // namespace ridgeline::report
