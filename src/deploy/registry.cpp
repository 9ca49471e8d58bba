#include "deploy/registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "deploy/targets.hpp"
#include "document/reader.hpp"

namespace ridgeline::deploy {

std::span<const Target* const> targets() {
  static constexpr std::array<const Target*, 8> kTargets = {&kVllmTarget,
                                                            &kDockerTarget,
                                                            &kDockerComposeTarget,
                                                            &kKubernetesTarget,
                                                            &kLlmDHelmTarget,
                                                            &kDynamoTarget,
                                                            &kKserveTarget,
                                                            &kSglangTarget};
  return kTargets;
}

core::Result<const Target*> find_target(const std::string& name) {
  std::vector<std::string> names;
  for (const Target* target : targets()) {
    if (target->abilities.target == name) {
      return target;
    }
    names.emplace_back(target->abilities.target);
  }
  const auto near = document::nearest(name, names);
  return core::fail(
      {.field = "--deployment-target",
       .message = fmt::format("found '{}', expected one of {}", name, fmt::join(names, ", ")),
       .where = {.file = "command line"},
       .hint = near ? fmt::format("did you mean {}?", *near) : ""});
}

}  // namespace ridgeline::deploy
