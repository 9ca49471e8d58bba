#include "serve/exposition.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ridgeline::serve {
namespace {

std::string escaped(std::string_view text, bool is_label) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && is_label) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::observe(double value, std::int64_t times) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)] += times;
  sum_ += value * static_cast<double>(times);
  count_ += times;
}

/// The number of bounds where it lies beyond the last one.
std::size_t Histogram::bucket_of(double quantile) const {
  const double wanted = quantile * static_cast<double>(count_);
  std::int64_t so_far = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    so_far += counts_[i];
    if (static_cast<double>(so_far) >= wanted) {
      return i;
    }
  }
  return bounds_.size();
}

double Histogram::quantile_bound(double quantile) const {
  return bounds_.empty() ? 0.0 : bounds_[std::min(bucket_of(quantile), bounds_.size() - 1)];
}

double Histogram::quantile_floor(double quantile) const {
  const std::size_t bucket = bucket_of(quantile);
  return bucket == 0 ? 0.0 : bounds_[bucket - 1];
}

std::string metric_number(double value) {
  if (std::isinf(value)) {
    return value > 0.0 ? "+Inf" : "-Inf";
  }
  if (std::isnan(value)) {
    return "NaN";
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  // Go turns to exponents sooner than Python.
  constexpr std::size_t kMostDigits = 6;
  const std::size_t dot = text.find('.');
  if (value > 0.0 && dot != std::string::npos && dot > kMostDigits &&
      text.find('e') == std::string::npos) {
    std::string mantissa = text.substr(0, 1) + "." + text.substr(1, dot - 1) + text.substr(dot + 1);
    mantissa.resize(mantissa.find_last_not_of("0.") + 1);
    return fmt::format("{}e+{:02}", mantissa, dot - 1);
  }
  return text;
}

void Exposition::head(std::string_view name, std::string_view help, std::string_view type) {
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, type);
}

void Exposition::sample(std::string_view name, const LabelList& labels, double value) {
  text_ += name;
  if (!labels.empty()) {
    char separator = '{';
    for (const auto& [label, text] : labels) {
      text_ += separator;
      text_ += label;
      text_ += "=\"";
      text_ += escaped(text, true);
      text_ += '"';
      separator = ',';
    }
    text_ += '}';
  }
  text_ += ' ';
  text_ += metric_number(value);
  text_ += '\n';
}

void Exposition::created(std::string_view name,
                         std::string_view help,
                         const std::vector<std::pair<LabelList, double>>& samples) {
  const std::string own = fmt::format("{}_created", name);
  head(own, help, "gauge");
  for (const auto& [labels, value] : samples) {
    sample(own, labels, created_);
  }
}

void Exposition::gauges(std::string_view name,
                        std::string_view help,
                        const std::vector<std::pair<LabelList, double>>& samples) {
  head(name, help, "gauge");
  for (const auto& [labels, value] : samples) {
    sample(name, labels, value);
  }
}

void Exposition::counters(std::string_view name,
                          std::string_view help,
                          const std::vector<std::pair<LabelList, double>>& samples) {
  const std::string total = fmt::format("{}_total", name);
  head(total, help, "counter");
  for (const auto& [labels, value] : samples) {
    sample(total, labels, value);
  }
  created(name, help, samples);
}

void Exposition::gauge(std::string_view name,
                       std::string_view help,
                       const LabelList& labels,
                       double value) {
  gauges(name, help, {{labels, value}});
}

void Exposition::counter(std::string_view name,
                         std::string_view help,
                         const LabelList& labels,
                         double value) {
  counters(name, help, {{labels, value}});
}

void Exposition::histogram(std::string_view name,
                           std::string_view help,
                           const LabelList& labels,
                           const Histogram& histogram) {
  histograms(name, help, {{labels, &histogram}});
}

void Exposition::histograms(std::string_view name,
                            std::string_view help,
                            const std::vector<std::pair<LabelList, const Histogram*>>& samples) {
  head(name, help, "histogram");
  std::vector<std::pair<LabelList, double>> made;
  for (const auto& [labels, histogram] : samples) {
    add(name, labels, *histogram);
    made.emplace_back(labels, 0.0);
  }
  created(name, help, made);
}

void Exposition::add(std::string_view name, const LabelList& labels, const Histogram& histogram) {
  std::int64_t so_far = 0;
  const std::string bucket = fmt::format("{}_bucket", name);
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    so_far += histogram.counts()[i];
    LabelList own = labels;
    own.emplace_back(
        "le",
        metric_number(i < histogram.bounds().size() ? histogram.bounds()[i]
                                                    : std::numeric_limits<double>::infinity()));
    std::ranges::sort(own);
    sample(bucket, own, static_cast<double>(so_far));
  }
  sample(fmt::format("{}_count", name), labels, static_cast<double>(histogram.count()));
  sample(fmt::format("{}_sum", name), labels, histogram.sum());
}

}  // namespace ridgeline::serve
