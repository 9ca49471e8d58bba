#include "plan/operator_errors.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "latency/accuracy/bands.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/operator_class.hpp"

namespace ridgeline::plan {
namespace {

constexpr document::Range<double> kOperatorErrors{.lowest = 0.0, .highest = 1000.0};

struct Measured {
  std::string kind;
  std::string precision;
  std::string gpu;
  std::string architecture;
  double median = 0.0;
  double left_out = 0.0;
};
struct Assumed {
  std::string kind;
  double median = 0.0;
};
struct Table {
  std::vector<Measured> measured;
  std::vector<Assumed> assumed;
};

std::string read_kind(document::ObjectReader& reader) {
  std::string kind = reader.required_string("operator");
  if (std::ranges::find(kOperatorClassNames, kind) == kOperatorClassNames.end()) {
    reader.problem(
        "operator",
        fmt::format("found \"{}\", expected {}", kind, fmt::join(kOperatorClassNames, ", ")));
  }
  return kind;
}

/// Calls `read` with the reader of each map of a list.
template <class Read>
void each_of(document::ObjectReader& top, const char* key, core::Errors& errors, const Read& read) {
  const document::Node* list = top.node(key);
  if (list == nullptr || !list->is_list()) {
    top.problem(key, "expected a list");
    return;
  }
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    document::ObjectReader reader(list->items()[i], fmt::format("{}[{}]", key, i), errors);
    read(reader);
    reader.finish();
  }
}

core::Result<Table> read_table(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  Table table;
  document::ObjectReader top(*document, "", errors);
  each_of(top, "operators", errors, [&](document::ObjectReader& reader) {
    Measured row;
    row.kind = read_kind(reader);
    row.precision = reader.required_string("precision");
    row.gpu = reader.required_string("gpu");
    row.architecture = reader.required_string("architecture");
    row.median = reader.required_real("median", kOperatorErrors);
    row.left_out = reader.required_real("left_out", kOperatorErrors);
    table.measured.push_back(std::move(row));
  });
  each_of(top, "assumed", errors, [&](document::ObjectReader& reader) {
    Assumed row;
    row.kind = read_kind(reader);
    row.median = reader.required_real("median", kOperatorErrors);
    table.assumed.push_back(std::move(row));
  });
  top.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return table;
}

const Table& built_in() {
  static const Table kTable = [] {
    const auto files = accuracy::accuracy_files();
    const auto file = std::ranges::find(files, "operators.yaml", &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), "data/accuracy/operators.yaml is there");
    auto table = read_table(file->text, std::string(file->name));
    RIDGELINE_CHECK(table.has_value(), "the compiled-in errors of operators are sound");
    return std::move(*table);
  }();
  return kTable;
}

}  // namespace

OperatorError operator_error(OperatorClass kind,
                             std::string_view precision,
                             const hardware::GpuSpec& gpu) {
  const std::string_view name = kOperatorClassNames[static_cast<std::size_t>(kind)];
  const Table& table = built_in();
  for (const Assumed& row : table.assumed) {
    if (row.kind == name) {
      return {.sd = sd_of_median(row.median), .measured = false};
    }
  }
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(table.measured, [&](const Measured& row) {
      return row.kind == name && row.precision == wanted;
    });
  };
  const std::string_view used = has(precision) ? precision : "16bit";
  double of_architecture = 0.0;
  double worst = 0.0;
  for (const Measured& row : table.measured) {
    if (row.kind != name || row.precision != used) {
      continue;
    }
    if (row.gpu == gpu.name) {
      return {.sd = sd_of_median(row.median), .measured = used == precision};
    }
    worst = std::max(worst, row.left_out);
    if (row.architecture == gpu.architecture) {
      of_architecture = std::max(of_architecture, row.left_out);
    }
  }
  return {.sd = sd_of_median(of_architecture > 0.0 ? of_architecture : worst), .measured = false};
}

core::Result<void> check_operator_errors(std::string_view text, const std::string& file) {
  const auto table = read_table(text, file);
  if (!table) {
    return core::fail(table.error());
  }
  return {};
}

}  // namespace ridgeline::plan
