#include "latency/measured/table_notes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "latency/measured/contradictions.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/operator_tables.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {

const char* where_tables_come_from() {
  return "--bench-data DIR: inference-sim/inference-sim (Apache-2.0) at commit 487017bc has "
         "measured tables of an H100 in bench_data, the folder of gemm/h100/data.csv; "
         "`ridgeline kernels make` makes such a folder from the kernel model";
}

core::Warnings notes_of(const KernelTables& tables) {
  core::Warnings notes;
  if (!tables.made.empty()) {
    const std::size_t all = 1 + tables.prefill.size() + tables.decode.size();
    notes.push_back(
        {.code = "W-made-tables",
         .message = fmt::format(
             "{} of {} kernel {} in {} made by the kernel model, not measured: "
             "what is read there is that model's prediction",
             tables.made.size(),
             all,
             core::plural("table", all),
             core::shown_path(tables.directory) + (tables.made.size() == 1 ? " was" : " were")),
         .hint = "`ridgeline kernels make` wrote them; column expected_error_pct says how far off "
                 "each row may be"});
  }
  const auto contradictions = contradictions_of(tables);
  notes.insert(notes.end(), contradictions.begin(), contradictions.end());
  return notes;
}

std::string loaded_text(const std::string& directory, const hardware::GpuSpec& gpu) {
  std::array<std::size_t, 3> rows{};
  std::size_t tables = 0;
  const auto count = [&](std::size_t kernel, std::size_t more) {
    rows[kernel] += more;
    ++tables;
  };
  if (holds_operator_tables(directory)) {
    const auto read = load_operator_tables(directory, gpu);
    if (!read) {
      return {};
    }
    std::ranges::for_each(read->gemms, [&](const auto& t) { count(0, t.points.size()); });
    std::ranges::for_each(read->prefills, [&](const auto& t) { count(1, t.points.size()); });
    std::ranges::for_each(read->decodes, [&](const auto& t) { count(2, t.points.size()); });
  } else {
    const auto read = load_bench_data(directory, gpu.name);
    if (!read) {
      return {};
    }
    count(0, read->gemm.rows().size());
    std::ranges::for_each(read->prefill, [&](const auto& t) { count(1, t.rows().size()); });
    std::ranges::for_each(read->decode, [&](const auto& t) { count(2, t.rows().size()); });
  }
  return fmt::format(
      "loaded {} rows of {} kernel tables from {} ({} gemm, {} prefill attention, {} decode "
      "attention)\n",
      rows[0] + rows[1] + rows[2],
      tables,
      core::shown_path(directory),
      rows[0],
      rows[1],
      rows[2]);
}

}  // namespace ridgeline::latency::measured
