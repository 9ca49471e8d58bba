#include "observe/metrics_page.hpp"

#include <algorithm>
#include <array>
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

#include "core/parse.hpp"

namespace ridgeline::observe {
namespace {

/// A page that has more of them is none of a server of this field.
constexpr std::size_t kMostLabels = 256;

struct Sample {
  std::string_view name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0.0;
};

/// The labels between the braces; `text` begins behind the opening one and gets what follows the
/// closing one. False where there is none.
bool read_labels(std::string_view& text, Sample& sample) {
  while (sample.labels.size() <= kMostLabels) {
    const std::size_t begin = text.find_first_not_of(", ");
    if (begin == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(begin);
    if (text.front() == '}') {
      text.remove_prefix(1);
      return true;
    }
    const std::size_t equals = text.find("=\"");
    if (equals == std::string_view::npos) {
      return false;
    }
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 2);
    std::string value;
    while (!text.empty() && text.front() != '"') {
      if (text.front() == '\\' && text.size() > 1) {
        text.remove_prefix(1);
        value += text.front() == 'n' ? '\n' : text.front();
      } else {
        value += text.front();
      }
      text.remove_prefix(1);
    }
    if (text.empty()) {
      return false;
    }
    text.remove_prefix(1);
    sample.labels.emplace_back(std::move(name), std::move(value));
  }
  return false;
}

std::optional<Sample> read_sample(std::string_view line) {
  if (line.empty() || line.front() == '#') {
    return std::nullopt;
  }
  Sample sample;
  const std::size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  sample.name = line.substr(0, end);
  const bool has_labels = line[end] == '{';
  line.remove_prefix(end + 1);
  if (has_labels && !read_labels(line, sample)) {
    return std::nullopt;
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto [at, error] = std::from_chars(line.data(), line.data() + line.size(), sample.value);
  if (error != std::errc() || !std::isfinite(sample.value)) {
    return std::nullopt;
  }
  return sample;
}

struct Name {
  std::string_view name;
  std::optional<double> ServerMetrics::* value;
};
constexpr auto kNames = std::to_array<Name>({
    {"vllm:num_requests_running", &ServerMetrics::running},
    {"vllm:num_requests_waiting", &ServerMetrics::waiting},
    {"vllm:kv_cache_usage_perc", &ServerMetrics::kv_use},
    {"vllm:gpu_cache_usage_perc", &ServerMetrics::kv_use},  // until vLLM 0.11
    {"vllm:num_preemptions_total", &ServerMetrics::preemptions},
    {"vllm:prefix_cache_queries_total", &ServerMetrics::prefix_queries},
    {"vllm:gpu_prefix_cache_queries_total", &ServerMetrics::prefix_queries},
    {"vllm:prefix_cache_hits_total", &ServerMetrics::prefix_hits},
    {"vllm:gpu_prefix_cache_hits_total", &ServerMetrics::prefix_hits},
    {"vllm:prompt_tokens_total", &ServerMetrics::prompt_tokens},
    {"vllm:generation_tokens_total", &ServerMetrics::generation_tokens},
    {"ridgeline:emission_lateness_seconds_sum", &ServerMetrics::late_s},
    {"ridgeline:emission_lateness_seconds_count", &ServerMetrics::late_steps},
});

}  // namespace

std::optional<std::int64_t> ServerMetrics::num_gpu_blocks() const {
  for (const auto& [name, text] : cache_config) {
    if (const auto blocks = core::parse_whole<std::int64_t>(text);
        name == "num_gpu_blocks" && blocks && *blocks > 0) {
      return blocks;
    }
  }
  return std::nullopt;
}

ServerMetrics read_metrics(std::string_view page) {
  ServerMetrics metrics;
  std::array<std::string_view, kNames.size()> seen;  // For each value, the name that it came from.
  double kv_series = 0.0;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    const auto sample = read_sample(page.substr(0, end));
    page.remove_prefix(std::min(end + 1, page.size()));
    if (!sample) {
      continue;
    }
    if (sample->name == "vllm:cache_config_info" && metrics.cache_config.empty()) {
      metrics.cache_config = sample->labels;
      continue;
    }
    const auto* const known = std::ranges::find(kNames, sample->name, &Name::name);
    if (known == kNames.end()) {
      continue;
    }
    // Where a version has a value under two names, the first counts.
    auto first = std::ranges::find(kNames, known->value, &Name::value);
    std::string_view& source = seen[static_cast<std::size_t>(first - kNames.begin())];
    if (source.empty()) {
      source = known->name;
    }
    if (source == known->name) {
      auto& value = metrics.*(known->value);
      value = value.value_or(0.0) + sample->value;
      kv_series += known->value == &ServerMetrics::kv_use ? 1.0 : 0.0;
    }
  }
  if (metrics.kv_use) {
    *metrics.kv_use /= kv_series;
  }
  return metrics;
}

}  // namespace ridgeline::observe
