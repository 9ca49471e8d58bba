#include "sweep/axis_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/option_reader.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::sweep {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kModel = "model";
constexpr std::string_view kGpu = "gpu";
constexpr std::string_view kTensorParallel = "engine.tensor_parallel_size";
constexpr std::string_view kExpertParallel = "engine.enable_expert_parallel";
/// Digits that a value of a range keeps (ours: 0.1 + 2 x 0.1 is then written as 0.3).
constexpr int kRangeDigits = 12;
/// A value so much beyond the end still counts as the end: what rounding does (ours: three digits
/// more than a value keeps would be lost in it, none that is stated).
constexpr double kEndTolerance = 1e-9;
/// Values refused that are listed one by one (ours: enough to see which, and a screen holds them).
constexpr std::size_t kMostListed = 20;

core::Error problem(const std::string& path,
                    const core::Location& where,
                    std::string message,
                    std::string hint = {}) {
  return {.field = path, .message = std::move(message), .where = where, .hint = std::move(hint)};
}

/// Notes what the setting itself says against a value.
void check_value(const scenario::Option& option,
                 const document::Node& value,
                 core::Errors& errors) {
  scenario::Scenario scratch;
  const document::Node map = document::Node::map(
      {{.key = std::string(option.key()), .value = value, .where = value.where()}}, value.where());
  document::ObjectReader reader(map, std::string(option.section()), errors);
  scenario::read_option(option, slot_of(option, scratch), reader, errors);
}

/// Notes the values that the setting refuses: the first ones, and how many there are beyond.
void check_values(const scenario::Option* option, const Axis& axis, core::Errors& errors) {
  core::Errors found;
  for (const document::Node& value : axis.values) {
    if (option != nullptr && !value.is_null()) {
      check_value(*option, value, found);
    }
  }
  if (found.size() > kMostListed) {
    const std::size_t more = found.size() - kMostListed;
    found.resize(kMostListed);
    found.push_back(
        problem(axis.path, axis.where, fmt::format("{} more values are refused", more)));
  }
  errors.insert(errors.end(), found.begin(), found.end());
}

double rounded(double value) {
  const std::string text = fmt::format("{:.{}g}", value, kRangeDigits);
  return core::parse_whole<double>(text).value_or(value);
}

/// `{from: 64, to: 512, factor: 2}`
class Range {
 public:
  Range(const std::string& path, const document::Node& node, core::Errors& errors)
      : path_(path), node_(node), errors_(errors) {}

  std::optional<std::vector<document::Node>> values() {
    const std::size_t before = errors_.size();
    document::ObjectReader reader(node_, path_, errors_);
    const auto from = number(reader, "from");
    const auto to = number(reader, "to");
    const auto step = number(reader, "step");
    const auto factor = number(reader, "factor");
    reader.finish();
    if (errors_.size() > before) {
      return std::nullopt;
    }
    if (!step && !factor) {
      return note("a continuous range cannot be searched: what is not listed cannot be called best",
                  "add `step` or `factor`: {from: 64, to: 512, factor: 2}");
    }
    if (!from || !to) {
      return note(fmt::format("the range has no `{}`", from ? "to" : "from"),
                  "{from: 64, to: 512, factor: 2}");
    }
    if (step && factor) {
      return note("the range has both `step` and `factor`, expected one of them");
    }
    if (*to < *from) {
      return note(fmt::format("the range ends at {} before it begins at {}",
                              core::shortest(*to),
                              core::shortest(*from)));
    }
    if (step && *step <= 0.0) {
      return note(fmt::format("step {} does not lead from {} to {}, expected more than 0",
                              core::shortest(*step),
                              core::shortest(*from),
                              core::shortest(*to)));
    }
    if (factor && (*factor <= 1.0 || *from <= 0.0)) {
      return note(
          fmt::format("factor {} does not lead from {} to {}, expected a factor above 1 and a "
                      "`from` above 0",
                      core::shortest(*factor),
                      core::shortest(*from),
                      core::shortest(*to)));
    }
    return counted(*from, *to, step, factor);
  }

 private:
  std::optional<double> number(document::ObjectReader& reader, std::string_view key) {
    const document::Node* value = reader.node(key);
    if (value == nullptr || value->is_null()) {
      return std::nullopt;
    }
    if (!value->is_number()) {
      reader.problem(key,
                     fmt::format("expected a plain number, found {}", value->describe()),
                     "write values with units as a list");
      return std::nullopt;
    }
    integers_ = integers_ && value->kind() == document::Node::Kind::kInteger;
    return value->as_real();
  }

  std::optional<std::vector<document::Node>> counted(double from,
                                                     double to,
                                                     std::optional<double> step,
                                                     std::optional<double> factor) {
    const double end = to + kEndTolerance * std::abs(to);
    std::vector<document::Node> found;
    double power = from;
    for (std::size_t i = 0;; ++i) {
      const double value = step ? from + static_cast<double>(i) * *step : power;
      if (value > end) {
        return found;
      }
      if (found.size() == kMostValues) {
        return note(fmt::format("the range has more than {} values", kMostValues));
      }
      found.push_back(integers_
                          ? document::Node::integer(static_cast<std::int64_t>(value), node_.where())
                          : document::Node::real(rounded(value), node_.where()));
      power *= factor.value_or(1.0);
    }
  }

  std::nullopt_t note(std::string message, std::string hint = {}) {
    errors_.push_back(problem(path_, node_.where(), std::move(message), std::move(hint)));
    return std::nullopt;
  }

  const std::string& path_;
  const document::Node& node_;
  core::Errors& errors_;
  bool integers_ = true;
};

bool is_range(const document::Node& node) {
  return node.find("from") != nullptr || node.find("to") != nullptr ||
         node.find("step") != nullptr || node.find("factor") != nullptr;
}

/// `auto`, where the key has one and its setting has no value of that name.
bool is_auto(const scenario::Option* option, const document::Node& node) {
  return option != nullptr && node.is_string() && node.as_string() == kAuto &&
         std::ranges::find(option->choices, kAuto) == option->choices.end() &&
         option->kind() != "text";
}

std::optional<Axis> derived_axis(const scenario::Option& option,
                                 const document::Node& node,
                                 core::Errors& errors) {
  Axis axis{.path = std::string(option.path), .values = {}, .where = node.where()};
  if (option.path == kTensorParallel) {
    axis.derived = Derived::kTensorParallelSize;
    for (std::int64_t size = 1; size <= static_cast<std::int64_t>(option.highest); size *= 2) {
      axis.values.push_back(document::Node::integer(size, node.where()));
    }
    return axis;
  }
  if (option.path == kExpertParallel) {
    axis.derived = Derived::kExpertParallel;
    axis.values = {document::Node::boolean(false, node.where()),
                   document::Node::boolean(true, node.where())};
    return axis;
  }
  errors.push_back(problem(axis.path,
                           node.where(),
                           "`auto` is not known here, expected values",
                           fmt::format("{} and {} have it", kTensorParallel, kExpertParallel)));
  return std::nullopt;
}

/// Notes values that stand twice, which would be one point twice.
void check_twice(const Axis& axis, core::Errors& errors) {
  std::vector<std::string> texts;
  texts.reserve(axis.values.size());
  for (const document::Node& value : axis.values) {
    texts.push_back(value.is_number() ? core::shortest(value.as_real())
                                      : scenario::flow_text(value));
  }
  std::ranges::sort(texts);
  if (const auto twice = std::ranges::adjacent_find(texts); twice != texts.end()) {
    errors.push_back(
        problem(axis.path, axis.where, fmt::format("the value {} stands twice", *twice)));
  }
}

/// The networks and GPUs of an axis: names that mean nothing are noted, which would refuse every
/// point that has them, and so are two names of one.
void check_names(const Axis& axis, core::Errors& errors) {
  const bool is_gpu = axis.path == kGpu;
  if (!is_gpu && axis.path != kModel) {
    return;
  }
  std::map<std::string, std::string> seen;  // The file of each, and the name that it had.
  for (const document::Node& value : axis.values) {
    if (!value.is_string()) {
      continue;
    }
    const std::string& name = value.as_string();
    const auto found =
        is_gpu ? hardware::find_gpu_document(name) : model::find_model_document(name);
    if (!found) {
      for (core::Error error : found.error()) {
        error.field = axis.path;
        error.where = value.where();
        errors.push_back(std::move(error));
      }
      continue;
    }
    const auto [first, is_new] = seen.emplace(found->where().file, name);
    if (!is_new && first->second != name) {
      errors.push_back(problem(
          axis.path, value.where(), fmt::format("{} and {} are the same", first->second, name)));
    }
  }
}

}  // namespace

bool same_value(const document::Node& left, const document::Node& right) {
  if (left.is_number() && right.is_number()) {
    return left.as_real() == right.as_real();
  }
  return left.kind() == right.kind() && scenario::flow_text(left) == scenario::flow_text(right);
}

std::optional<Axis> read_axis(const std::string& path,
                              const scenario::Option* option,
                              const document::Node& node,
                              core::Errors& errors) {
  const std::size_t before = errors.size();
  if (is_auto(option, node)) {
    return derived_axis(*option, node, errors);
  }
  Axis axis{.path = path, .values = {}, .where = node.where()};
  if (node.is_map() && is_range(node)) {
    auto values = Range(axis.path, node, errors).values();
    if (!values) {
      return std::nullopt;
    }
    axis.values = std::move(*values);
  } else if (node.is_list()) {
    axis.values = node.items();
  } else {
    axis.values = {node};
  }
  if (axis.values.empty() || axis.values.size() > kMostValues) {
    errors.push_back(
        problem(axis.path,
                node.where(),
                fmt::format("found {} values, expected 1 to {}", axis.values.size(), kMostValues)));
    return std::nullopt;
  }
  check_values(option, axis, errors);
  check_twice(axis, errors);
  check_names(axis, errors);
  return errors.size() == before ? std::optional(std::move(axis)) : std::nullopt;
}

}  // namespace ridgeline::sweep
