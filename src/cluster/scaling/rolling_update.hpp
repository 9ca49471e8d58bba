#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline::scaling {

/// A number of instances, or a share of them in hundredths: "2", "25%".
struct CountOrPercent {
  std::int64_t value = 0;
  bool is_percent = false;

  friend bool operator==(const CountOrPercent&, const CountOrPercent&) = default;
};
/// Nothing for anything else, for a number below 0, and for more than 100 %.
[[nodiscard]] std::optional<CountOrPercent> count_or_percent(std::string_view text);

/// What a Kubernetes Deployment does unless it says otherwise (apps/v1, defaults of both: 25 %).
inline constexpr CountOrPercent kDefaultSurge{.value = 25, .is_percent = true};
inline constexpr CountOrPercent kDefaultUnavailable{.value = 25, .is_percent = true};

/// How far an update may leave the number of instances that there are to be, both ways.
struct UpdateRule {
  CountOrPercent surge = kDefaultSurge;
  CountOrPercent unavailable = kDefaultUnavailable;

  friend bool operator==(const UpdateRule&, const UpdateRule&) = default;
};

/// Such a rule, of so many instances.
struct UpdateLimits {
  std::int64_t replicas = 0;     ///< As many as there are to be.
  std::int64_t surge = 0;        ///< Above that, those that drain not counted.
  std::int64_t unavailable = 0;  ///< Fewer than that that are ready.

  friend bool operator==(const UpdateLimits&, const UpdateLimits&) = default;
};
/// As a Deployment rounds them: a surge up, what is unavailable down; one is unavailable where both
/// come to 0 (ResolveFenceposts of pkg/controller/deployment/util, Kubernetes 1.30).
[[nodiscard]] UpdateLimits update_limits(std::int64_t replicas, const UpdateRule& rule);

/// Instances in the middle of an update; those that drain, or are gone, are none.
struct UpdateState {
  std::int64_t old_ready = 0;
  std::int64_t old_unready = 0;  ///< They start, or lie where they crashed.
  std::int64_t new_ready = 0;
  std::int64_t new_unready = 0;
  std::int64_t free_places = 0;  ///< Where an instance could start.
};

/// What is to be done at once.
struct UpdateStep {
  std::int64_t start = 0;           ///< New ones.
  std::int64_t retire_new = 0;      ///< New ones of which there are too many.
  std::int64_t retire_unready = 0;  ///< Old ones that are not ready.
  std::int64_t retire_ready = 0;    ///< Old ones that are.

  friend bool operator==(const UpdateStep&, const UpdateStep&) = default;
};
/// One round of a Deployment's rolling update (rolling.go of pkg/controller/deployment, Kubernetes
/// 1.30): new instances up to the surge, or down to as many as there are to be where fewer are
/// wanted by now; then old ones down to what must be ready, those that are not ready first.
[[nodiscard]] UpdateStep update_step(const UpdateLimits& limits, const UpdateState& state);

}  // namespace ridgeline::scaling
