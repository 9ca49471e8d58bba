#include "engine/serving.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::engine {
namespace {

/// A slip of unit or point would leave this.
constexpr document::Range<double> kPlausible{.lowest = 0.0, .highest = 1e6};

core::Duration from_us(double value) {
  return core::Duration::saturating(core::microseconds(value));
}

constexpr auto kPlaces =
    std::to_array<std::pair<std::string_view, void (*)(ServingConstants&, double)>>({
        {"network",
         [](ServingConstants& all, double us) {
           all.path.network = from_us(us);
           all.path.deliver = from_us(us);
         }},
        {"frontend", [](ServingConstants& all, double us) { all.path.frontend = from_us(us); }},
        {"frontend_per_token",
         [](ServingConstants& all, double us) { all.path.frontend_per_token = from_us(us); }},
        {"handoff",
         [](ServingConstants& all, double us) {
           all.path.handoff = from_us(us);
           all.path.emit = from_us(us);
         }},
        {"close", [](ServingConstants& all, double us) { all.path.close = from_us(us); }},
        {"host_per_step",
         [](ServingConstants& all, double us) { all.host.per_step = from_us(us); }},
        {"host_per_sequence",
         [](ServingConstants& all, double us) { all.host.per_sequence = from_us(us); }},
        {"host_per_rank", [](ServingConstants& all, double us) { all.per_rank = from_us(us); }},
        {"frontend_per_output",
         [](ServingConstants& all, double us) { all.host.per_answer = from_us(us); }},
    });

ServingConstant read_constant(const document::Node& node,
                              const std::string& name,
                              core::Errors& errors) {
  document::ObjectReader reader(node, "constants." + name, errors);
  ServingConstant constant;
  constant.name = name;
  constant.meaning = reader.required_string("meaning");
  constant.unit = reader.required_string("unit");
  constant.value = reader.required_real("value", kPlausible);
  constant.source = reader.required_string("source");
  const auto interval = reader.reals("interval", kPlausible).value_or(std::vector<double>{});
  if (interval.size() != 2 || interval[0] > constant.value || constant.value > interval[1]) {
    reader.problem("interval", fmt::format("expected two numbers around {}", constant.value));
  } else {
    constant.lowest = interval[0];
    constant.highest = interval[1];
  }
  if (constant.unit != "us") {
    reader.problem("unit", fmt::format("found {}", constant.unit));
  }
  reader.finish();
  return constant;
}

}  // namespace

core::Result<ServingConstants> read_serving_constants(std::string_view text,
                                                      const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  ServingConstants constants;
  document::ObjectReader top(*document, "", errors);
  const document::Node* node = top.node("constants");
  top.finish();
  if (node == nullptr || !node->is_map()) {
    return core::fail(core::Error{
        .field = "constants", .message = "missing, expected a map", .where = {.file = file}});
  }
  document::ObjectReader all(*node, "constants", errors);
  for (const auto& [name, set] : kPlaces) {
    const document::Node* entry = all.node(name);
    if (entry == nullptr) {
      all.problem(name, "missing, expected a constant");
      continue;
    }
    constants.table.push_back(read_constant(*entry, std::string(name), errors));
    set(constants, constants.table.back().value);
  }
  all.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return constants;
}

const ServingConstants& serving_constants() {
  static const ServingConstants kConstants = [] {
    const auto files = serving_files();
    RIDGELINE_CHECK(files.size() == 1, "one file of serving constants");
    auto read = read_serving_constants(files.front().text, std::string(files.front().name));
    RIDGELINE_CHECK(read.has_value(), "the compiled-in serving constants are sound");
    return std::move(*read);
  }();
  return kConstants;
}

}  // namespace ridgeline::engine
