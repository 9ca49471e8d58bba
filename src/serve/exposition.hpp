#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::serve {

/// Labels of a sample, sorted by name.
using LabelList = std::vector<std::pair<std::string, std::string>>;

/// Counts by upper bounds, as Prometheus does.
class Histogram {
 public:
  /// `bounds` ascend; the last bucket, +Inf, is added.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value) { observe(value, 1); }
  void observe(double value, std::int64_t times);
  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  /// Count of each bucket alone, +Inf last.
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The upper bound of the bucket that holds a quantile; the last bound where it lies beyond.
  [[nodiscard]] double quantile_bound(double quantile) const;
  /// The lower bound of that bucket: 0 for the first one.
  [[nodiscard]] double quantile_floor(double quantile) const;

 private:
  [[nodiscard]] std::size_t bucket_of(double quantile) const;

  std::vector<double> bounds_;
  std::vector<std::int64_t> counts_;
  double sum_ = 0.0;
  std::int64_t count_ = 0;
};

/// A page of metrics in Prometheus' text format 0.0.4, byte for byte as Python's prometheus_client
/// 0.16 writes it: labels sorted, floats as Python and Go print them, _total and _created.
class Exposition {
 public:
  /// `created`: when the series were made, in seconds since 1970.
  explicit Exposition(double created) : created_(created) {}

  void gauge(std::string_view name, std::string_view help, const LabelList& labels, double value);
  void counter(std::string_view name, std::string_view help, const LabelList& labels, double value);
  void histogram(std::string_view name,
                 std::string_view help,
                 const LabelList& labels,
                 const Histogram& histogram);
  /// A family of several samples: a line of labels for each.
  void histograms(std::string_view name,
                  std::string_view help,
                  const std::vector<std::pair<LabelList, const Histogram*>>& samples);
  void gauges(std::string_view name,
              std::string_view help,
              const std::vector<std::pair<LabelList, double>>& samples);
  void counters(std::string_view name,
                std::string_view help,
                const std::vector<std::pair<LabelList, double>>& samples);

  [[nodiscard]] const std::string& text() const { return text_; }
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  void head(std::string_view name, std::string_view help, std::string_view type);
  void add(std::string_view name, const LabelList& labels, const Histogram& histogram);
  void sample(std::string_view name, const LabelList& labels, double value);
  void created(std::string_view name,
               std::string_view help,
               const std::vector<std::pair<LabelList, double>>& samples);

  double created_;
  std::string text_;
};

/// A number as prometheus_client prints it: "1.0", "+Inf", "1.5e+06".
[[nodiscard]] std::string metric_number(double value);

}  // namespace ridgeline::serve
