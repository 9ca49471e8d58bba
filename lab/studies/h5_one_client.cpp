#include <string>
#include <utility>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/fleet_run.hpp"
#include "lab/studies/h5_measured.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies::h5 {
namespace {

/// The digest of a short run of one client under a form of H5's own code.
core::Result<std::string> digest_of(const char* preset, const std::string& bench_data) {
  const auto outcome = simulate_scenario({{.path = "model", .text = "llama-2-7b"},
                                          {.path = "gpu", .text = "h100"},
                                          {.path = "latency.name", .text = preset},
                                          {.path = "latency.bench_data", .text = bench_data},
                                          {.path = "workload.num_prompts", .text = "20"},
                                          {.path = "workload.max_concurrency", .text = "1"},
                                          {.path = "workload.input_len", .text = "512"},
                                          {.path = "workload.output_len", .text = "128"}});
  if (!outcome) {
    return core::fail(outcome.error());
  }
  return outcome->digest;
}

}  // namespace

core::Result<void> judge_one_client(const Lab& lab, Outcome& out) {
  StudyTable table{.name = "one_client", .rows = {}};
  bool equal = true;
  std::string first;
  for (const char* preset : {"v2-h5-default", "v2-h5-smoothwa", "v2-h5-additive"}) {
    const auto digest = digest_of(preset, lab.options().bench_data);
    if (!digest) {
      return core::fail(digest.error());
    }
    first = first.empty() ? *digest : first;
    equal = equal && *digest == first;
    table.rows.push_back(row("latency", preset, "digest", *digest));
  }
  out.tables[3].rows.push_back(
      statement("H5.3",
                "the effect vanishes at one client (0.02 points)",
                equal,
                equal ? "exactly 0: 20 requests of one client give one digest under all three "
                        "forms, as no step is mixed"
                      : "the digests differ"));
  out.tables.push_back(std::move(table));
  return {};
}

}  // namespace ridgeline::studies::h5
