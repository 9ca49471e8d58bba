#include "workload/generate/law_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
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
#include "workload/generate/law.hpp"

namespace ridgeline::workload {
namespace {

constexpr document::Range<double> kPositive{.lowest = 1e-9, .highest = 1e9};
constexpr double kNoUpperEnd = 1e8;

void read_ends(document::ObjectReader& reader, const document::Range<double>& range, Law& law) {
  law.lowest = reader.real("min", range).value_or(std::max(law.lowest, range.lowest));
  law.highest = reader.real("max", range).value_or(std::min(law.highest, range.highest));
  if (law.lowest > law.highest) {
    reader.problem("min",
                   fmt::format("{} is above max, expected at most {}", law.lowest, law.highest));
  }
}

/// Kind names with what their first two parameters are called.
struct KindName {
  std::string_view name;
  Law::Kind kind;
  std::string_view first;
  std::string_view second;
};

const KindName* find_kind(std::span<const KindName> kinds, std::string_view name) {
  const auto found = std::ranges::find(kinds, name, &KindName::name);
  return found == kinds.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(std::span<const KindName> kinds) {
  std::vector<std::string> names;
  for (const KindName& kind : kinds) {
    names.emplace_back(kind.name);
  }
  return names;
}

void read_parameters(document::ObjectReader& reader,
                     const KindName& kind,
                     const document::Range<double>& range,
                     Law& law) {
  law.kind = kind.kind;
  if (!kind.first.empty()) {
    law.a = reader.required_real(
        kind.first,
        kind.kind == Law::Kind::kLogOfNormal ? document::Range<double>{-50, 50} : kAnyQuantity);
  }
  if (!kind.second.empty()) {
    law.b = reader.required_real(kind.second, kAnyQuantity);
  }
  if (kind.kind == Law::Kind::kUniform) {
    law.lowest = reader.required_real("min", range);
    law.highest = reader.required_real("max", range);
    return;
  }
  if (kind.kind == Law::Kind::kZipf) {
    law.highest = reader.required_real(
        "max", {.lowest = 1.0, .highest = std::min(range.highest, kNoUpperEnd)});
    return;
  }
  if (kind.kind == Law::Kind::kParetoLognormal) {
    law.d = reader.required_real("alpha", kPositive);
    law.e = reader.required_real("xm", kPositive);
    law.a = reader.required_real("mu", {.lowest = -50, .highest = 50});
    law.b = reader.required_real("sigma", kAnyQuantity);
    law.c = reader.required_real("mix_weight", {.lowest = 0.0, .highest = 1.0});
  }
  read_ends(reader, range, law);
}

/// {"128": 0.3, "256": 0.7}
bool read_bins(const document::Node& node,
               const std::string& path,
               core::Errors& errors,
               Law& law) {
  law.kind = Law::Kind::kEmpirical;
  double total = 0.0;
  for (const auto& member :
       node.is_map() ? node.members() : std::vector<document::Node::Member>()) {
    const auto value = core::parse_whole<double>(member.key);
    if (!value || *value < 0.0 || !member.value.is_number() || !(member.value.as_real() >= 0.0)) {
      errors.push_back({.field = path,
                        .message = fmt::format("found {}: {}, expected a number and its weight",
                                               member.key,
                                               member.value.describe()),
                        .where = member.where});
      return false;
    }
    law.values.push_back(*value);
    law.weights.push_back(member.value.as_real());
    total += law.weights.back();
  }
  if (!(total > 0.0)) {
    errors.push_back({.field = path,
                      .message = "found no weight above 0, expected numbers with their weights",
                      .where = node.where()});
    return false;
  }
  return true;
}

}  // namespace

std::optional<Law> read_blis_law(const document::Node& node,
                                 const std::string& path,
                                 core::Errors& errors) {
  static constexpr auto kKinds = std::to_array<KindName>({
      {"gaussian", Law::Kind::kNormal, "mean", "std_dev"},
      {"exponential", Law::Kind::kExponential, "mean", ""},
      {"lognormal", Law::Kind::kLogOfNormal, "mu", "sigma"},
      {"pareto_lognormal", Law::Kind::kParetoLognormal, "", ""},
      {"constant", Law::Kind::kConstant, "value", ""},
      {"empirical", Law::Kind::kEmpirical, "", ""},
  });
  const std::size_t before = errors.size();
  document::ObjectReader reader(node, path, errors);
  const auto type = reader.choice("type", names_of(kKinds));
  const KindName* const kind = type ? find_kind(kKinds, *type) : nullptr;
  const document::Node* const params = reader.node("params");
  Law law;
  if (kind != nullptr && kind->kind == Law::Kind::kEmpirical) {
    if (reader.string("file")) {
      reader.problem("file", "is not read, expected the values in params");
    }
    if (params != nullptr) {
      read_bins(*params, path + ".params", errors, law);
    } else {
      reader.problem("params", "missing, expected numbers with their weights");
    }
  } else if (kind != nullptr && params != nullptr) {
    document::ObjectReader inner(*params, path + ".params", errors);
    read_parameters(inner, *kind, kAnyQuantity, law);
    inner.finish();
  } else if (kind != nullptr) {
    read_parameters(reader, *kind, kAnyQuantity, law);
  } else if (!type) {
    reader.problem("type", "missing, expected the name of a distribution");
  }
  reader.finish();
  return errors.size() == before ? std::optional(law) : std::nullopt;
}

std::optional<Law> read_perf_law(const document::Node& node,
                                 const std::string& path,
                                 core::Errors& errors) {
  if (node.is_number()) {
    return Law::constant(node.as_real());
  }
  static const std::vector<std::string> kTypes = {
      "fixed", "normal", "lognormal", "log_normal", "uniform", "poisson", "skew_normal"};
  const std::size_t before = errors.size();
  document::ObjectReader reader(node, path, errors);
  const std::string type = reader.choice("type", kTypes).value_or("normal");
  Law law;
  // Its Distribution's defaults (inference-perf 0.7.0).
  constexpr double kPerfLeast = 10.0;
  constexpr double kPerfMost = 1024.0;
  constexpr double kPerfMean = 512.0;
  constexpr double kPerfDeviation = 200.0;
  law.lowest = reader.real("min", kAnyQuantity).value_or(kPerfLeast);
  law.highest = reader.real("max", kAnyQuantity).value_or(kPerfMost);
  law.a = reader.real("mean", kAnyQuantity).value_or(kPerfMean);
  const auto variance = reader.real("variance", kAnyQuantity);
  law.b = reader.real("std_dev", kAnyQuantity)
              .value_or(variance ? std::sqrt(*variance) : kPerfDeviation);
  reader.real("total_count", kAnyQuantity);
  law.c = reader.real("skew").value_or(0.0);
  law.kind = type == "uniform"                             ? Law::Kind::kUniform
             : type == "lognormal" || type == "log_normal" ? Law::Kind::kLognormal
             : type == "fixed"                             ? Law::Kind::kConstant
             : type == "skew_normal"                       ? Law::Kind::kSkewNormal
                                                           : Law::Kind::kNormal;
  if (type == "poisson") {
    law.b = law.a > 0.0 ? std::max(law.b, 1.0) : 0.0;
  }
  if (law.lowest > law.highest) {
    reader.problem("min", fmt::format("{} is above max, {}", law.lowest, law.highest));
  }
  reader.finish();
  return errors.size() == before ? std::optional(law) : std::nullopt;
}

std::optional<Law> read_own_law(const document::Node& node,
                                const std::string& path,
                                core::Errors& errors,
                                const document::Range<double>& range) {
  static constexpr auto kKinds = std::to_array<KindName>({
      {"uniform", Law::Kind::kUniform, "", ""},
      {"normal", Law::Kind::kNormal, "mean", "std"},
      {"lognormal", Law::Kind::kLognormal, "mean", "std"},
      {"exponential", Law::Kind::kExponential, "mean", ""},
      {"gamma", Law::Kind::kGamma, "shape", "scale"},
      {"weibull", Law::Kind::kWeibull, "shape", "scale"},
      {"zipf", Law::Kind::kZipf, "exponent", ""},
      {"empirical", Law::Kind::kEmpirical, "", ""},
  });
  const std::size_t before = errors.size();
  if (node.is_number()) {
    const double value = node.as_real();
    if (!(value >= range.lowest && value <= range.highest)) {
      errors.push_back({.field = path,
                        .message = fmt::format("found {}, expected {} to {}",
                                               node.describe(),
                                               core::shortest(range.lowest),
                                               core::shortest(range.highest)),
                        .where = node.where()});
      return std::nullopt;
    }
    return Law::constant(value);
  }
  document::ObjectReader reader(node, path, errors);
  const auto type = reader.choice("distribution", names_of(kKinds));
  const KindName* const kind = type ? find_kind(kKinds, *type) : nullptr;
  Law law;
  if (kind == nullptr) {
    if (!type) {
      reader.problem("distribution", "missing, expected the name of a distribution");
    }
  } else if (kind->kind == Law::Kind::kEmpirical) {
    law.kind = kind->kind;
    law.values = reader.reals("values", range).value_or(std::vector<double>());
    law.weights =
        reader.reals("weights", kAnyQuantity).value_or(std::vector<double>(law.values.size(), 1.0));
    if (law.values.empty() || law.values.size() != law.weights.size() ||
        !(*std::ranges::max_element(law.weights) > 0.0)) {
      reader.problem("values", "expected as many values as weights, one of them above 0");
    }
  } else {
    read_parameters(reader, *kind, range, law);
  }
  reader.finish();
  return errors.size() == before ? std::optional(law) : std::nullopt;
}

}  // namespace ridgeline::workload
