#include "scenario/sections/tenants.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "domain/tenants.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/sections.hpp"
#include "scenario/time_value.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kTenants = "cluster.tenants";
constexpr std::array<std::string_view, 1> kAuto = {"auto"};
constexpr document::Range<double> kShares{.lowest = 1e-6, .highest = 1e6};
constexpr document::Range<std::int64_t> kPriorities{.lowest = -1'000'000, .highest = 1'000'000};
constexpr document::Range<std::int64_t> kPerMinute{.lowest = 0, .highest = 1'000'000'000'000};

// clang-format off
constexpr auto kTenantOptions = std::to_array<Option>({
    {.path = kTenants, .flag = "tenant", .choices = kAuto, .unset = "requests of all tenants are alike",
     .help = "A tenant that shares the cluster: name, share, priority, slo, limits; or auto: those of the workload",
     .example = "{name: gold, share: 3, priority: 1}", .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.tenants; }},
});
// clang-format on

std::optional<core::Duration> read_time(document::ObjectReader& reader, std::string_view key) {
  const document::Node* const node = reader.node(key);
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  const auto time = time_value(*node);
  if (!time) {
    reader.problem(key,
                   fmt::format("found {}, expected a time of at most 9200000s", node->describe()),
                   "seconds, or with a unit: 250ms, 60s, 10m");
  }
  return time;
}

void read_targets(const document::Node& node,
                  const std::string& path,
                  core::Errors& errors,
                  domain::Tenant& tenant) {
  document::ObjectReader reader(node, path, errors);
  for (const auto& [key, target] : {std::pair{"ttft", &tenant.ttft},
                                    std::pair{"tpot", &tenant.tpot},
                                    std::pair{"e2e", &tenant.e2e}}) {
    const document::Node* const stated = reader.node(key);
    if (stated == nullptr || stated->is_null()) {
      continue;
    }
    if (const auto seconds = target_seconds(*stated)) {
      *target = core::Duration::saturating(core::Seconds(*seconds));
    } else {
      reader.problem(key, seconds.error().front().message, seconds.error().front().hint);
    }
  }
  reader.finish();
}

domain::Tenant read_tenant(const document::Node& node,
                           const std::string& path,
                           core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  domain::Tenant tenant;
  tenant.name = reader.required_string("name");
  tenant.share = reader.real("share", kShares).value_or(tenant.share);
  tenant.priority = reader.integer("priority", kPriorities);
  tenant.request_ttl = read_time(reader, "request_ttl");
  tenant.requests_per_minute = reader.integer("requests_per_minute", kPerMinute);
  tenant.tokens_per_minute = reader.integer("tokens_per_minute", kPerMinute);
  if (const document::Node* slo = reader.node("slo"); slo != nullptr && !slo->is_null()) {
    read_targets(*slo, reader.path_of("slo"), errors, tenant);
  }
  reader.finish();
  return tenant;
}

}  // namespace

bool tenants_are_open(const std::optional<document::Node>& tenants) {
  const auto is_auto = [](const document::Node& node) {
    return node.is_string() && node.as_string() == kAuto.front();
  };
  return tenants && (is_auto(*tenants) || (tenants->is_list() && tenants->items().size() == 1 &&
                                           is_auto(tenants->items().front())));
}

core::Result<std::vector<domain::Tenant>> read_tenants(
    const std::optional<document::Node>& tenants) {
  std::vector<domain::Tenant> listed;
  if (!tenants || tenants_are_open(tenants)) {
    return listed;
  }
  if (!tenants->is_list() || tenants->items().empty()) {
    return core::fail(core::Error{
        .field = std::string(kTenants),
        .message = fmt::format("found {}, expected a list of tenants, or auto",
                               tenants->is_list() ? "an empty list" : tenants->describe()),
        .where = tenants->where(),
        .hint = "tenants: [{name: gold, share: 3}, {name: batch, priority: -1}]"});
  }
  core::Errors errors;
  for (std::size_t i = 0; i < tenants->items().size(); ++i) {
    const std::string path = fmt::format("{}[{}]", kTenants, i);
    const document::Node& node = tenants->items()[i];
    domain::Tenant tenant = read_tenant(node, path, errors);
    if (!tenant.name.empty() &&
        std::ranges::find(listed, tenant.name, &domain::Tenant::name) != listed.end()) {
      errors.push_back({.field = path + ".name",
                        .message = fmt::format("'{}' is listed twice", tenant.name),
                        .where = node.where()});
    }
    listed.push_back(std::move(tenant));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return listed;
}

std::span<const Option> tenant_options() {
  return kTenantOptions;
}

void check_tenants(Findings& findings) {
  const auto tenants = read_tenants(findings.scenario().run.cluster.tenants);
  if (!tenants) {
    core::Errors& errors = findings.errors();
    errors.insert(errors.end(), tenants.error().begin(), tenants.error().end());
  }
}

}  // namespace ridgeline::scenario
