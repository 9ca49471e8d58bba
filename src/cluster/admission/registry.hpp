#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/flow_control.hpp"
#include "cluster/admission/saturation/detector.hpp"
#include "cluster/admission/settings.hpp"
#include "core/result.hpp"

namespace ridgeline::admission {

/// A choice by name: `Make` makes it.
template <class Make>
struct Entry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< The system and version, or the paper, that it is taken from.
  Make make = nullptr;
};
/// Null: the policy is known and cannot run here; its summary says why.
using PolicyEntry = Entry<std::unique_ptr<Admission> (*)(const Settings&)>;
using DetectorEntry = Entry<std::unique_ptr<SaturationDetector> (*)(const Settings&)>;
using FairnessEntry = Entry<std::unique_ptr<Fairness> (*)()>;

/// All of a kind; the first is the default.
[[nodiscard]] std::span<const PolicyEntry> policies();
[[nodiscard]] std::span<const DetectorEntry> detectors();
[[nodiscard]] std::span<const FairnessEntry> fairness_policies();
/// Names of the orders inside a flow; the first is the default.
[[nodiscard]] std::span<const std::string_view> dispatch_orders();
/// Requires one of those names.
[[nodiscard]] DispatchOrder dispatch_order(std::string_view name);

/// The entry of that name, else an error that names the nearest. The error has no field.
[[nodiscard]] core::Result<const PolicyEntry*> find_policy(const std::string& name);
[[nodiscard]] core::Result<const DetectorEntry*> find_detector(const std::string& name);
[[nodiscard]] core::Result<const FairnessEntry*> find_fairness(const std::string& name);

}  // namespace ridgeline::admission
