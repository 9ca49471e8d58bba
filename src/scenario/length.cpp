#include "scenario/length.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

using document::MapBuilder;

namespace {

constexpr document::Range<std::int64_t> kTokens{.lowest = 1,
                                                .highest = workload::kMaxTokensPerRequest};
constexpr document::Range<double> kMean{.lowest = 0.0, .highest = workload::kMaxTokensPerRequest};

/// The standard deviation of a hint's example, as a part of the mean: 128 of 512.
constexpr double kUsualSpread = 0.25;

/// Mean, spread and limits of the normal kinds.
template <class Kind>
Kind read_normal(document::ObjectReader& reader) {
  Kind length;
  length.mean = reader.required_real("mean", kMean);
  if (reader.node("std") == nullptr) {
    reader.problem(
        "std",
        "is missing, expected a number",
        fmt::format("the standard deviation of the length itself, in tokens: std: {:.0f}",
                    std::max(length.mean * kUsualSpread, 1.0)));
  }
  length.std = reader.real("std", kMean).value_or(0.0);
  length.lowest = core::Tokens(reader.integer("min", kTokens).value_or(length.lowest.value()));
  length.highest = core::Tokens(reader.integer("max", kTokens).value_or(length.highest.value()));
  if (length.highest < length.lowest) {
    reader.problem(
        "max", fmt::format("{} is below min {}", length.highest.value(), length.lowest.value()));
  }
  return length;
}

workload::Length read_uniform(document::ObjectReader& reader) {
  const std::int64_t lowest = reader.required_integer("min", kTokens);
  const std::int64_t highest = reader.required_integer("max", kTokens);
  if (highest < lowest) {
    reader.problem("max", fmt::format("{} is below min {}", highest, lowest));
  }
  return workload::UniformLength{.lowest = core::Tokens(lowest), .highest = core::Tokens(highest)};
}

workload::Length read_empirical(document::ObjectReader& reader) {
  const auto values = reader.integers("values", kTokens).value_or(std::vector<std::int64_t>());
  auto weights = reader.reals("weights", {.lowest = 0.0}).value_or(std::vector<double>());
  if (values.empty()) {
    reader.problem("values", "expected a list of at least one length");
  }
  if (weights.empty()) {
    weights.assign(values.size(), 1.0);
  }
  workload::EmpiricalLength length;
  if (weights.size() != values.size()) {
    reader.problem("weights",
                   fmt::format("{} weights for {} values", weights.size(), values.size()));
    return length;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    length.bins.push_back({.value = core::Tokens(values[i]), .weight = weights[i]});
  }
  return length;
}

template <class Kind>
document::Node normal_node(const char* name, const Kind& length) {
  return MapBuilder()
      .add("distribution", name)
      .add("mean", length.mean)
      .add("std", length.std)
      .add("min", length.lowest.value())
      .add("max", length.highest.value());
}

document::Node empirical_node(const workload::EmpiricalLength& length) {
  std::vector<document::Node> values;
  std::vector<document::Node> weights;
  for (const auto& bin : length.bins) {
    values.push_back(document::Node::integer(bin.value.value(), {}));
    weights.push_back(document::Node::real(bin.weight, {}));
  }
  return MapBuilder()
      .add("distribution", "empirical")
      .add("values", document::Node::list(std::move(values), {}))
      .add("weights", document::Node::list(std::move(weights), {}));
}

}  // namespace

std::optional<workload::Length> read_length(const document::Node& node,
                                            const std::string& path,
                                            core::Errors& errors) {
  if (node.kind() == document::Node::Kind::kInteger) {
    const std::int64_t tokens = node.as_integer();
    if (tokens < kTokens.lowest || tokens > kTokens.highest) {
      errors.push_back(
          {.field = path,
           .message = fmt::format(
               "{} is out of range, expected {} to {}", tokens, kTokens.lowest, kTokens.highest),
           .where = node.where()});
      return std::nullopt;
    }
    return workload::FixedLength{core::Tokens(tokens)};
  }
  if (!node.is_map()) {
    errors.push_back(
        {.field = path,
         .message = fmt::format("found {}, expected a whole number of tokens or a distribution",
                                node.describe()),
         .where = node.where(),
         .hint = "{distribution: normal, mean: 512, std: 128}"});
    return std::nullopt;
  }
  static const std::array<std::string, 4> kNames = {"uniform", "normal", "lognormal", "empirical"};
  const std::size_t before = errors.size();
  document::ObjectReader reader(node, path, errors);
  const auto name = reader.choice("distribution", kNames);
  std::optional<workload::Length> length;
  if (name == "uniform") {
    length = read_uniform(reader);
  } else if (name == "normal") {
    length = read_normal<workload::NormalLength>(reader);
  } else if (name == "lognormal") {
    length = read_normal<workload::LognormalLength>(reader);
  } else if (name == "empirical") {
    length = read_empirical(reader);
  } else if (errors.size() == before) {
    reader.problem("distribution",
                   fmt::format("missing, expected one of: {}", fmt::join(kNames, ", ")));
  }
  if (length) {
    reader.finish();
  }
  return errors.size() == before ? length : std::nullopt;
}

document::Node to_node(const workload::Length& length) {
  return std::visit(
      [](const auto& kind) -> document::Node {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, workload::FixedLength>) {
          return document::Node::integer(kind.value.value(), {});
        } else if constexpr (std::is_same_v<Kind, workload::UniformLength>) {
          return MapBuilder()
              .add("distribution", "uniform")
              .add("min", kind.lowest.value())
              .add("max", kind.highest.value());
        } else if constexpr (std::is_same_v<Kind, workload::NormalLength>) {
          return normal_node("normal", kind);
        } else if constexpr (std::is_same_v<Kind, workload::LognormalLength>) {
          return normal_node("lognormal", kind);
        } else {
          return empirical_node(kind);
        }
      },
      length);
}

std::string short_text(const workload::Length& length) {
  return std::visit(
      [&](const auto& law) -> std::string {
        using Law = std::remove_cvref_t<decltype(law)>;
        if constexpr (std::is_same_v<Law, workload::FixedLength>) {
          return fmt::format("{}", law.value.value());
        } else if constexpr (std::is_same_v<Law, workload::UniformLength>) {
          return fmt::format("uniform({}, {})", law.lowest.value(), law.highest.value());
        } else if constexpr (std::is_same_v<Law, workload::EmpiricalLength>) {
          return fmt::format("{} values, mean {:.4g}", law.bins.size(), mean_length(length));
        } else {
          constexpr bool kIsNormal = std::is_same_v<Law, workload::NormalLength>;
          return fmt::format("{}({}, {})", kIsNormal ? "normal" : "lognormal", law.mean, law.std);
        }
      },
      length);
}

double mean_length(const workload::Length& length) {
  const auto tokens = [](core::Tokens count) { return static_cast<double>(count.value()); };
  return std::visit(
      [&](const auto& law) {
        using Law = std::remove_cvref_t<decltype(law)>;
        if constexpr (std::is_same_v<Law, workload::FixedLength>) {
          return tokens(law.value);
        } else if constexpr (std::is_same_v<Law, workload::UniformLength>) {
          return (tokens(law.lowest) + tokens(law.highest)) / 2.0;
        } else if constexpr (std::is_same_v<Law, workload::EmpiricalLength>) {
          double sum = 0.0;
          double weights = 0.0;
          for (const auto& bin : law.bins) {
            sum += bin.weight * tokens(bin.value);
            weights += bin.weight;
          }
          return sum / weights;
        } else {
          return law.mean;
        }
      },
      length);
}

document::Node length_schema() {
  const auto number = [](double lowest) {
    return MapBuilder().add("type", "number").add("minimum", lowest);
  };
  const auto tokens = [] {
    return MapBuilder()
        .add("type", "integer")
        .add("minimum", kTokens.lowest)
        .add("maximum", kTokens.highest);
  };
  const auto list_of = [](document::Node items) {
    return MapBuilder().add("type", "array").add("items", std::move(items));
  };
  std::vector<document::Node> names;
  for (const char* name : {"uniform", "normal", "lognormal", "empirical"}) {
    names.push_back(document::Node::string(name, {}));
  }
  std::vector<document::Node> required;
  required.push_back(document::Node::string("distribution", {}));
  auto distribution =
      MapBuilder()
          .add("type", "object")
          .add("required", document::Node::list(std::move(required), {}))
          .add("additionalProperties", false)
          .add("properties",
               MapBuilder()
                   .add("distribution",
                        MapBuilder().add("enum", document::Node::list(std::move(names), {})))
                   .add("mean", number(0.0))
                   .add("std", number(0.0))
                   .add("min", tokens())
                   .add("max", tokens())
                   .add("values", list_of(tokens()))
                   .add("weights", list_of(number(0.0))));
  std::vector<document::Node> either;
  either.push_back(tokens());
  either.push_back(std::move(distribution));
  return MapBuilder().add("oneOf", document::Node::list(std::move(either), {}));
}

}  // namespace ridgeline::scenario
