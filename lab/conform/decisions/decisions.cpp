#include "lab/conform/decisions/decisions.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/decisions/decision_case.hpp"
#include "lab/conform/decisions/systems.hpp"

namespace ridgeline::conform {
namespace {

struct System {
  std::string_view name;
  bool (*check)(DecisionCase&);
};
constexpr auto kSystems = std::to_array<System>({
    {"llm-d-router", check_llm_d},
    {"inference-sim", check_inference_sim},
    {"dynamo", check_dynamo},
    {"vllm", check_data_parallel},
    {"sglang", check_data_parallel},
    {"sglang-gateway", check_sglang_gateway},
    {"aibrix", check_aibrix},
    {"kthena", check_kthena},
    {"production-stack", check_production_stack},
    {"workload-variant-autoscaler", check_autoscaler},
});

}  // namespace

bool is_decisions(const document::Node& document) {
  return document.is_list() || (document.is_map() && document.find("campaigns") != nullptr &&
                                document.find("rows") != nullptr);
}

core::Result<std::vector<ConformResult>> conform_decisions(const document::Node& document,
                                                           const std::string& file) {
  std::vector<ConformResult> results;
  if (!document.is_list()) {
    return results;
  }
  if (document.items().empty()) {
    return core::fail({.field = "cases",
                       .message = "found no case, expected one decision at least",
                       .where = document.where()});
  }
  core::Errors errors;
  for (const document::Node& node : document.items()) {
    if (!node.is_map()) {
      errors.push_back({.field = "policy",
                        .message = fmt::format("found {}, expected a map", node.describe()),
                        .where = node.where()});
      continue;
    }
    DecisionCase recorded(node);
    const auto* const system = std::ranges::find(kSystems, recorded.system(), &System::name);
    if (system == kSystems.end() || !system->check(recorded)) {
      errors.push_back(
          {.field = "policy",
           .message = fmt::format(
               "no policy '{}' of a system '{}' is known", recorded.policy(), recorded.system()),
           .where = node.where()});
      continue;
    }
    results.push_back({.file = file,
                       .scenario = recorded.id(),
                       .version = recorded.version(),
                       .profile = recorded.policy(),
                       .difference = recorded.difference()});
    const core::Errors problems = recorded.problems();
    errors.insert(errors.end(), problems.begin(), problems.end());
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return results;
}

}  // namespace ridgeline::conform
