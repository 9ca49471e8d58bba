#include "verbs/run/repeat.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/shell_word.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/run/headline.hpp"

namespace ridgeline::verbs {
namespace {

using scenario::Provenance;

bool is_stated(const Provenance& provenance) {
  return provenance.origin == Provenance::Origin::kFile ||
         provenance.origin == Provenance::Origin::kFlag;
}

/// As a part of a URL: RFC 3986's unreserved characters stand for themselves.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kUnreserved = "-._~";
  std::string encoded;
  for (const char c : text) {
    const bool stands = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || kUnreserved.find(c) != std::string_view::npos;
    encoded += stands ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> stated_settings(
    const scenario::Resolved& resolved) {
  std::vector<std::pair<std::string, std::string>> all;
  const scenario::Scenario scenario = resolved.scenario();
  for (const Provenance& provenance : resolved.provenance) {
    if (provenance.origin == Provenance::Origin::kDefault) {
      continue;
    }
    const std::string place = place_text(provenance.where);
    all.emplace_back(
        provenance.path,
        fmt::format("{} ({}{}{})",
                    scenario::value_text(*scenario::find_option(provenance.path), scenario),
                    scenario::name(provenance.origin),
                    place.empty() ? "" : ", ",
                    place));
  }
  return all;
}

std::string repeat_command(const scenario::Resolved& resolved) {
  // The page itself holds every setting.
  constexpr std::string_view kFromPage =
      "ridgeline report PAGE.html --format json | ridgeline run -";
  const scenario::Scenario scenario = resolved.scenario();
  const document::Node config = scenario::to_node(scenario);
  const document::Node* const latency = config.find("latency");
  if (config.find("set") != nullptr || (latency != nullptr && latency->find("set") != nullptr)) {
    return std::string(kFromPage);
  }
  std::string command = "ridgeline run";
  bool has_seed = false;
  for (const Provenance& provenance : resolved.provenance) {
    if (!is_stated(provenance)) {
      continue;
    }
    const scenario::Option& option = *scenario::find_option(provenance.path);
    const document::Node value = scenario::value_node(option, scenario);
    has_seed = has_seed || option.path == "seed";
    if (option.shape != scenario::Option::Shape::kOne || value.is_map() || value.is_list()) {
      return std::string(kFromPage);
    }
    if (value.kind() == document::Node::Kind::kBool) {
      command += fmt::format(" --{}{}", value.as_bool() ? "" : "no-", option.flag);
    } else {
      command += fmt::format(
          " --{} {}", option.flag, core::shell_word(scenario::value_text(option, scenario)));
    }
  }
  // The seed too where it is the default one, for a reader who asks whether there was chance.
  return has_seed ? command : fmt::format("{} --seed {}", command, scenario.run.seed);
}

std::string settings_link(const scenario::Resolved& resolved) {
  const scenario::Scenario scenario = resolved.scenario();
  std::string link;
  for (const Provenance& provenance : resolved.provenance) {
    if (!is_stated(provenance)) {
      continue;
    }
    const scenario::Option& option = *scenario::find_option(provenance.path);
    const document::Node value = scenario::value_node(option, scenario);
    std::string text = scenario::value_text(option, scenario);
    if (value.is_map() || value.is_list()) {
      document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
      document::write(value, json);
      text = json.text();
    }
    link += fmt::format("{}{}={}", link.empty() ? "" : "&", option.flag, percent_encoded(text));
  }
  return link;
}

}  // namespace ridgeline::verbs
