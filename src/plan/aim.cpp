#include "plan/aim.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "plan/members.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::plan {
namespace {

constexpr std::string_view kThroughput = "throughput";
constexpr std::string_view kAuto = "auto";
constexpr std::string_view kClientsPath = "workload.max_concurrency";
constexpr std::string_view kRatePath = "workload.request_rate";
/// What besides a rate says when requests come.
constexpr std::array<std::string_view, 4> kOpenPaths = {
    kRatePath, "workload.trace", "workload.arrivals", "workload.burstiness"};

}  // namespace

std::optional<LoadToFind> read_aim(const document::Node& word,
                                   const document::Node& base,
                                   std::vector<scenario::Override>& overrides,
                                   core::Errors& errors) {
  if (!word.is_string() || word.as_string() != kThroughput) {
    errors.push_back({.field = "maximize",
                      .message = fmt::format("found {}, expected {}", word.describe(), kThroughput),
                      .where = word.where(),
                      .hint = "--maximize throughput"});
    return std::nullopt;
  }
  const auto is_stated = [&](std::string_view path) {
    return has_path(base, path) ||
           std::ranges::find(overrides, path, &scenario::Override::path) != overrides.end();
  };
  const bool is_open = std::ranges::any_of(kOpenPaths, is_stated);
  bool is_wrong = false;
  for (const std::string_view path : {kClientsPath, kRatePath}) {
    for (const scenario::Override& change : overrides) {
      if (change.path == path && change.text != kAuto) {
        errors.push_back({.field = change.path,
                          .message = fmt::format("found \"{}\", expected auto: the load is what "
                                                 "--maximize finds",
                                                 change.text),
                          .where = {.file = "command line"},
                          .hint = "without --maximize, the cheapest deployment for that load"});
        is_wrong = true;
      }
    }
  }
  if (is_open && is_stated(kClientsPath)) {
    errors.push_back({.field = std::string(kClientsPath),
                      .message = "found beside a rate: expected one of the two to be found",
                      .where = {.file = "command line"},
                      .hint = "--max-concurrency auto, or --request-rate auto"});
    is_wrong = true;
  }
  if (is_wrong) {
    return std::nullopt;
  }
  const std::string path(is_open ? kRatePath : kClientsPath);
  const bool is_sped_up = is_open && is_stated("workload.trace") && !is_stated(kRatePath);
  std::erase_if(overrides, [&](const auto& change) { return change.path == path; });
  if (!is_sped_up) {
    overrides.push_back({.path = path, .text = "1"});
  }
  return is_open ? LoadToFind::kRate : LoadToFind::kClients;
}

}  // namespace ridgeline::plan
