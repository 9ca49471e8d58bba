#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "deploy/deployment.hpp"
#include "deploy/layout.hpp"
#include "deploy/read.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "scenario/digest.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

/// Deployments for tests: a scenario in, its files out.
namespace ridgeline::test {

inline scenario::Resolved resolved_of(const std::vector<scenario::Override>& overrides) {
  std::vector<scenario::Override> all = {{"model", "llama-3.3-70b-fp8"},
                                         {"gpu", "h100"},
                                         {"engine.tensor_parallel_size", "2"},
                                         {"engine.max_model_len", "8192"},
                                         {"workload.request_rate", "5"},
                                         {"workload.input_len", "1000"},
                                         {"workload.output_len", "200"},
                                         {"slo.ttft", "500ms"}};
  std::erase_if(all, [&](const scenario::Override& standard) {
    return std::ranges::find(overrides, standard.path, &scenario::Override::path) !=
           overrides.end();
  });
  all.insert(all.end(), overrides.begin(), overrides.end());
  auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kRun);
  EXPECT_TRUE(loaded) << core::to_string(loaded.error().front());
  auto resolved = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(resolved) << core::to_string(resolved.error().front());
  return std::move(*resolved);
}

/// The files for one target, by their names.
inline std::string file_of(const scenario::Resolved& resolved,
                           const deploy::Target& target,
                           const std::string& name) {
  const deploy::Input input{.resolved = resolved, .ridgeline = "1.2.3", .predicted = {"TTFT 1 ms"}};
  const deploy::Target* const only = &target;
  const auto files = deploy::deployment_files(input, {&only, 1});
  EXPECT_TRUE(files) << core::to_string(files.error().front());
  for (const deploy::File& file : *files) {
    if (file.name == name) {
      return file.text;
    }
  }
  return "";
}

/// What is wrong with deploying a scenario for a target, one line each.
inline std::string refusals(const scenario::Resolved& resolved, const deploy::Target& target) {
  const auto layout =
      deploy::layout_of({.resolved = resolved, .ridgeline = "1.2.3"}, target.abilities);
  std::string text;
  if (!layout) {
    for (const core::Error& error : layout.error()) {
      text += core::to_string(error) + "\n";
    }
  }
  return text;
}

inline std::string digest_of(const scenario::Resolved& resolved) {
  return scenario::scenario_digest(resolved.scenario());
}
inline std::string digest_of(const document::Node& scenario) {
  auto loaded = scenario::read_scenario(scenario, {}, scenario::Purpose::kLook);
  EXPECT_TRUE(loaded) << core::to_string(loaded.error().front());
  auto resolved = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(resolved) << core::to_string(resolved.error().front());
  return digest_of(*resolved);
}

/// The digest of the scenario that a file of a deployment states.
inline std::string digest_in(const std::string& text, const std::string& name) {
  const auto read = deploy::scenario_in(text, name);
  EXPECT_TRUE(read) << core::to_string(read.error().front());
  EXPECT_TRUE(read->has_value());
  return digest_of((*read)->scenario);
}

}  // namespace ridgeline::test
