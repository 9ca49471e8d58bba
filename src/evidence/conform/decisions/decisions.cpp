#include "evidence/conform/decisions/decisions.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/conform/conform.hpp"
#include "evidence/conform/decisions/decision_case.hpp"
#include "evidence/conform/decisions/systems.hpp"

namespace ridgeline::evidence::conform {
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
    {"aibrix", check_kubernetes},
    {"kthena", check_kubernetes},
    {"production-stack", check_kubernetes},
    {"workload-variant-autoscaler", check_autoscaler},
});

}  // namespace

bool is_decisions(const document::Node& document) {
  return (document.is_list() && !document.items().empty()) ||
         (document.is_map() && document.find("campaigns") != nullptr &&
          document.find("rows") != nullptr);
}

core::Result<std::vector<ConformResult>> conform_decisions(const document::Node& document,
                                                           const std::string& file) {
  std::vector<ConformResult> results;
  core::Errors errors;
  const std::vector<document::Node> none;
  for (const document::Node& node : document.is_list() ? document.items() : none) {
    const std::string name = node.is_map() ? word_of(node, "system") : std::string();
    const auto* const system = std::ranges::find(kSystems, name, &System::name);
    DecisionCase recorded(node);
    if (system == kSystems.end() || node.find("expected") == nullptr || !system->check(recorded)) {
      errors.push_back({.field = "policy",
                        .message = node.is_map()
                                       ? fmt::format("no policy '{}' of a system '{}' is known",
                                                     word_of(node, "policy"),
                                                     name)
                                       : fmt::format("found {}, expected a map", node.describe()),
                        .where = node.where()});
      continue;
    }
    results.push_back({.file = file,
                       .scenario = word_of(node, "id"),
                       .version = word_of(node, "version"),
                       .profile = recorded.policy(),
                       .difference = recorded.difference()});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return results;
}

}  // namespace ridgeline::evidence::conform
