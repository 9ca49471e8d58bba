#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/rate_curve.hpp"

namespace ridgeline::workload {

/// What inference-sim's descriptions may say in microseconds, and in requests per second.
inline constexpr document::Range<double> kBlisTime{.lowest = 0.0, .highest = 9.2e12};
inline constexpr document::Range<double> kBlisRate{.lowest = 0.0, .highest = 1e9};
inline constexpr double kBlisMicrosecond = 1e-6;

/// A time in which a client sends.
struct BlisWindow {
  double start = 0.0;  ///< Seconds.
  double end = 0.0;
  std::optional<double> rate;
};

/// A client before rates are shared out.
struct BlisClient {
  ClientSpec spec;
  double fraction = 0.0;
  std::optional<double> rate;  ///< Stated by the arrival process itself.
  std::vector<BlisWindow> windows;
  std::optional<RateCurve> shape;  ///< Curve of rate 1: diurnal and drain.
  std::int64_t concurrency = 0;
  Law think = Law::constant(0.0);
  bool single_session = false;
};

/// How many requests per second a client sends, if `rate` is what its share comes to.
[[nodiscard]] RateCurve blis_rate_curve(const BlisClient& client, double rate);

/// What of a description inference-sim does otherwise than its specification, or we do not take.
struct BlisTraits {
  bool accumulates = false;      ///< Conversations that keep their context.
  bool sessions = false;         ///< Clients with rounds.
  bool counts_sessions = false;  ///< num_requests beside such clients.
  bool diurnal = false;
  bool network = false;
  bool timeouts = false;
  bool windows = false;  ///< With a rate of their own.
  bool has_seed = false;
  bool slo_targets = false;
  double fractions = 1.0;  ///< Their sum, where clients share a rate.
};
[[nodiscard]] core::Warnings blis_warnings(const BlisTraits& traits);

/// Reads clients and cohorts.
class BlisClientReader {
 public:
  explicit BlisClientReader(core::Errors& errors) : errors_(errors) {}

  /// Version 1 had other names for two SLO classes.
  void set_version_1() { is_version_1_ = true; }
  /// Adds a client, or the members of a cohort.
  void read(const document::Node& node,
            const std::string& path,
            bool is_client,
            std::vector<BlisClient>& clients);
  [[nodiscard]] BlisTraits& traits() { return traits_; }

 private:
  static constexpr std::int64_t kMaxConcurrencyOfClient = 1'000'000;

  std::string slo_class(document::ObjectReader& reader) const;
  /// `rate` is set where shape and scale say what the mean gap is: those win over the client's
  /// share of the rate.
  GapLaw read_arrival(const document::Node* node,
                      const std::string& path,
                      std::optional<double>& rate);
  void read_law(document::ObjectReader& reader,
                std::string_view key,
                const std::string& path,
                std::optional<Law>& law);
  void read_lengths(document::ObjectReader& reader, const std::string& path, ClientSpec& spec);
  void read_multimodal(const document::Node& node,
                       const std::string& path,
                       ClientSpec& spec,
                       std::optional<Law>& input);
  void read_reasoning(document::ObjectReader& reader,
                      const std::string& path,
                      bool closed,
                      BlisClient& client);
  void read_lifecycle(document::ObjectReader& reader, const std::string& path, BlisClient& client);
  void read_cohort(document::ObjectReader& reader, const std::string& path, BlisClient& client);

  core::Errors& errors_;
  bool is_version_1_ = false;
  BlisTraits traits_;
};

}  // namespace ridgeline::workload
