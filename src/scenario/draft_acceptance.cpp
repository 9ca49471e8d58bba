#include "scenario/draft_acceptance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"

namespace ridgeline::scenario {

/// Made by the build of data/drafts.
std::span<const document::EmbeddedFile> draft_files();

namespace {

struct Curve {
  std::string method;
  std::string network;
  std::vector<double> tokens;
};

std::vector<Curve> read_curves(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  RIDGELINE_CHECK(document.has_value(), "the compiled-in acceptance curves are YAML");
  core::Errors errors;
  std::vector<Curve> curves;
  document::ObjectReader root(*document, "", errors);
  for (const document::Node& node : root.node("curves")->items()) {
    document::ObjectReader row(node, "curves", errors);
    row.boolean("thinking");
    curves.push_back({.method = row.string("method").value_or(""),
                      .network = row.string("network").value_or(""),
                      .tokens = row.reals("tokens", {.lowest = 1.0, .highest = 100.0})
                                    .value_or(std::vector<double>())});
    row.finish();
  }
  root.finish();
  RIDGELINE_CHECK(errors.empty(), "the compiled-in acceptance curves are sound");
  return curves;
}

const std::vector<Curve>& all_curves() {
  static const std::vector<Curve> kCurves =
      read_curves(draft_files().front().text, std::string(draft_files().front().name));
  return kCurves;
}

double tokens_of(const Curve& curve, std::size_t drafts) {
  return curve.tokens[std::min(drafts, curve.tokens.size()) - 1];
}

}  // namespace

bool has_published_acceptance(std::string_view method) {
  return std::ranges::find(all_curves(), method, &Curve::method) != all_curves().end();
}

std::optional<PublishedAcceptance> published_acceptance(std::string_view method,
                                                        std::string_view network,
                                                        std::int64_t drafts) {
  std::vector<Curve> curves;
  std::ranges::copy_if(all_curves(), std::back_inserter(curves), [&](const Curve& curve) {
    return curve.method == method;
  });
  const auto is_own = [&](const Curve& curve) { return network.starts_with(curve.network); };
  if (std::ranges::any_of(curves, is_own)) {
    std::erase_if(curves, [&](const Curve& curve) { return !is_own(curve); });
  }
  if (curves.empty()) {
    return std::nullopt;
  }
  const auto mean = [&](std::size_t count) {
    double sum = 0.0;
    for (const Curve& curve : curves) {
      sum += tokens_of(curve, count);
    }
    return sum / static_cast<double>(curves.size());
  };
  const auto count = static_cast<std::size_t>(drafts);
  PublishedAcceptance found{.tokens = 1.0};
  double reached = 1.0;  // Probability that all drafts so far were accepted.
  for (std::size_t draft = 1; draft <= count; ++draft) {
    const double gain = std::clamp(mean(draft) - found.tokens, 0.0, reached);
    found.given_previous.push_back(reached > 0.0 ? gain / reached : 0.0);
    found.tokens += gain;
    reached = gain;
  }
  const auto [low, high] =
      std::ranges::minmax(curves, {}, [&](const Curve& curve) { return tokens_of(curve, count); });
  found.lowest = tokens_of(low, count);
  found.highest = tokens_of(high, count);
  std::vector<std::string> names;
  for (const Curve& curve : curves) {
    if (std::ranges::find(names, curve.network) == names.end()) {
      names.push_back(curve.network);
    }
  }
  found.networks = fmt::format("{}", fmt::join(names, ", "));
  return found;
}

}  // namespace ridgeline::scenario
