#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/label_set.hpp"

namespace ridgeline::domain {

using TenantId = core::Id<struct TenantIdTag>;

/// One of those that share a cluster.
struct Tenant {
  std::string name;
  double share = 1.0;  ///< Weight of its service against the others'.
  /// Higher is better, below zero may be shed, as llm-d has it. Not set: that of each request,
  /// turned round (of a request, as of vLLM's, the lower is the better).
  std::optional<std::int64_t> priority = {};
  std::optional<core::Duration> ttft = {};  ///< Targets of its requests on the client's clock.
  std::optional<core::Duration> tpot = {};
  std::optional<core::Duration> e2e = {};
  std::optional<core::Duration> request_ttl = {};  ///< In the gateway's queue, instead of its own.
  std::optional<std::int64_t> requests_per_minute = {};
  std::optional<std::int64_t> tokens_per_minute = {};  ///< Prompt tokens.
};

/// The tenants of a run by number: those listed first, then those that requests name beside them
/// and the one of requests without a tenant, in the order in which they come.
class Tenants {
 public:
  /// The tenant's text of a value of Label::kTenant.
  using NameOf = std::function<std::string(std::int32_t)>;

  /// Without label sets every request is of no tenant.
  Tenants(std::vector<Tenant> listed, const LabelSets* sets, NameOf name_of)
      : tenants_(std::move(listed)),
        num_listed_(tenants_.size()),
        sets_(sets),
        name_of_(std::move(name_of)) {}
  explicit Tenants(std::vector<Tenant> listed = {}) : Tenants(std::move(listed), nullptr, {}) {}

  /// The tenant of requests with these labels.
  TenantId of(core::LabelSetId set) {
    if (sets_ == nullptr || !set.valid()) {
      return without_tenant();
    }
    if (set.value() >= of_sets_.size()) {
      of_sets_.resize(set.value() + std::size_t{1});
    }
    TenantId& tenant = of_sets_[set.value()];
    if (!tenant.valid()) {
      const std::int32_t label = (*sets_)[set].of(Label::kTenant);
      tenant = label == LabelSet::kNoLabel
                   ? without_tenant()
                   : named(label == LabelSet::kOther ? std::string(kOther) : name_of_(label));
    }
    return tenant;
  }

  [[nodiscard]] const Tenant& operator[](TenantId id) const { return tenants_[id.value()]; }
  [[nodiscard]] std::size_t size() const { return tenants_.size(); }
  [[nodiscard]] std::size_t num_listed() const { return num_listed_; }
  [[nodiscard]] bool is_without_tenant(TenantId id) const { return id == none_; }

  static constexpr const char* kNone = "(none)";  ///< Tenant of requests without one.
  static constexpr const char* kOther =
      "(other)";  ///< Past the most label sets that are kept apart.

 private:
  TenantId named(const std::string& name) {
    for (std::size_t i = 0; i < tenants_.size(); ++i) {
      if (tenants_[i].name == name) {
        return TenantId(static_cast<TenantId::Rep>(i));
      }
    }
    return add(name);
  }
  TenantId without_tenant() {
    if (!none_.valid()) {
      none_ = add(kNone);
    }
    return none_;
  }
  TenantId add(std::string name) {
    tenants_.push_back({.name = std::move(name)});
    return TenantId(static_cast<TenantId::Rep>(tenants_.size() - 1));
  }

  std::vector<Tenant> tenants_;
  std::size_t num_listed_;
  const LabelSets* sets_;
  NameOf name_of_;
  std::vector<TenantId> of_sets_;  ///< By number of the label set.
  TenantId none_;
};

}  // namespace ridgeline::domain
