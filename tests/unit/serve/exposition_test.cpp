#include "serve/exposition.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::serve {
namespace {

// What prometheus_client 0.16 prints for the same numbers.
TEST(MetricNumber, IsAsPrometheusClientPrintsIt) {
  EXPECT_EQ(metric_number(0.0), "0.0");
  EXPECT_EQ(metric_number(1.0), "1.0");
  EXPECT_EQ(metric_number(0.005), "0.005");
  EXPECT_EQ(metric_number(-2.5), "-2.5");
  EXPECT_EQ(metric_number(123456.0), "123456.0");
  EXPECT_EQ(metric_number(1234567.0), "1.234567e+06");
  EXPECT_EQ(metric_number(1234567.5), "1.2345675e+06");
  EXPECT_EQ(metric_number(1795724777.25), "1.79572477725e+09");
  EXPECT_EQ(metric_number(1e6), "1e+06");
  EXPECT_EQ(metric_number(std::numeric_limits<double>::infinity()), "+Inf");
}

TEST(Histogram, CountsByUpperBounds) {
  Histogram histogram({1.0, 2.0});
  histogram.observe(1.0);
  histogram.observe(1.5, 2);
  histogram.observe(9.0);
  EXPECT_EQ(histogram.counts(), (std::vector<std::int64_t>{1, 2, 1}));
  EXPECT_EQ(histogram.count(), 4);
  EXPECT_DOUBLE_EQ(histogram.sum(), 13.0);
  EXPECT_DOUBLE_EQ(histogram.quantile_bound(0.25), 1.0);
  EXPECT_DOUBLE_EQ(histogram.quantile_bound(0.5), 2.0);
  EXPECT_DOUBLE_EQ(histogram.quantile_bound(0.99), 2.0);
  EXPECT_DOUBLE_EQ(histogram.quantile_floor(0.25), 0.0);
  EXPECT_DOUBLE_EQ(histogram.quantile_floor(0.5), 1.0);
  EXPECT_DOUBLE_EQ(histogram.quantile_floor(0.99), 2.0);
}

TEST(Exposition, WritesFamilies) {
  Exposition page(5.0);
  page.gauge("a:g", "A \\ gauge.", {{"engine", "0"}, {"model_name", "a\"b"}}, 2.0);
  page.counter("a:c", "A counter.", {}, 3.0);
  EXPECT_EQ(page.text(),
            "# HELP a:g A \\\\ gauge.\n# TYPE a:g gauge\n"
            "a:g{engine=\"0\",model_name=\"a\\\"b\"} 2.0\n"
            "# HELP a:c_total A counter.\n# TYPE a:c_total counter\na:c_total 3.0\n"
            "# HELP a:c_created A counter.\n# TYPE a:c_created gauge\na:c_created 5.0\n");
}

TEST(Exposition, WritesHistogramsWithSortedLabels) {
  Exposition page(5.0);
  Histogram histogram({0.1, 20.0});
  histogram.observe(0.5);
  page.histogram("a:h", "H.", {{"engine", "0"}, {"model_name", "m"}}, histogram);
  EXPECT_EQ(page.text(),
            "# HELP a:h H.\n# TYPE a:h histogram\n"
            "a:h_bucket{engine=\"0\",le=\"0.1\",model_name=\"m\"} 0.0\n"
            "a:h_bucket{engine=\"0\",le=\"20.0\",model_name=\"m\"} 1.0\n"
            "a:h_bucket{engine=\"0\",le=\"+Inf\",model_name=\"m\"} 1.0\n"
            "a:h_count{engine=\"0\",model_name=\"m\"} 1.0\n"
            "a:h_sum{engine=\"0\",model_name=\"m\"} 0.5\n"
            "# HELP a:h_created H.\n# TYPE a:h_created gauge\n"
            "a:h_created{engine=\"0\",model_name=\"m\"} 5.0\n");
}

}  // namespace
}  // namespace ridgeline::serve
