#include "evidence/calibrate/server_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "latency/accuracy/bands.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using document::MapBuilder;

/// A setting of a scenario: "engine", "max_num_seqs". Changes of a network or GPU have the key
/// "set".
struct Setting {
  std::string section;  ///< Empty at the top.
  std::string key;
  document::Node value;

  [[nodiscard]] std::string path() const {
    return section.empty() ? key : fmt::format("{}.{}", section, key);
  }
};

std::string json_of(const document::Node& node, document::JsonWriter::Layout layout) {
  document::JsonWriter json(layout);
  document::write(node, json);
  return json.text();
}

bool is_of_server(const scenario::Option& option) {
  const std::string_view section = option.section();
  return section.empty() ? option.path == "model" || option.path == "gpu"
                         : section == "engine" || section == "latency" || section == "serving";
}

/// What was stated of a server, in the order of the table of options.
std::vector<Setting> stated_settings(const scenario::Resolved& resolved) {
  std::vector<Setting> settings;
  const scenario::Scenario scenario = resolved.scenario();
  for (std::size_t i = 0; i < scenario::options().size(); ++i) {
    const scenario::Option& option = scenario::options()[i];
    const auto origin = resolved.provenance[i].origin;
    if (is_of_server(option) && (origin == scenario::Provenance::Origin::kFlag ||
                                 origin == scenario::Provenance::Origin::kFile)) {
      settings.push_back({.section = std::string(option.section()),
                          .key = std::string(option.key()),
                          .value = scenario::value_node(option, scenario)});
    }
  }
  const document::Node whole = scenario::to_node(scenario);
  const auto add_set = [&](const std::string& section, const document::Node* map) {
    const document::Node* set = map == nullptr ? nullptr : map->find("set");
    if (set != nullptr) {
      settings.push_back({.section = section, .key = "set", .value = *set});
    }
  };
  add_set("latency", whole.find("latency"));
  add_set("", &whole);
  return settings;
}

document::Node document_of(const std::vector<Setting>& settings) {
  MapBuilder top;
  std::vector<std::string> done;
  for (const auto& setting : settings) {
    if (setting.section.empty()) {
      top.add(setting.key, setting.value);
    } else if (std::ranges::find(done, setting.section) == done.end()) {
      MapBuilder section;
      for (const auto& other : settings) {
        if (other.section == setting.section) {
          section.add(other.key, other.value);
        }
      }
      top.add(setting.section, std::move(section));
      done.push_back(setting.section);
    }
  }
  return top.build();
}

/// A text that YAML takes for nothing else stands as it is; everything else as JSON, which YAML
/// holds.
std::string yaml_value(const document::Node& value) {
  if (value.is_string()) {
    const std::string& text = value.as_string();
    const bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                       std::ranges::all_of(text, [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                                std::string_view("-_./@").find(c) != std::string_view::npos;
                       });
    constexpr auto kWords = std::to_array<std::string_view>({"true", "false", "null"});
    if (plain && std::ranges::find(kWords, text) == kWords.end()) {
      return text;
    }
  }
  return json_of(value, document::JsonWriter::Layout::kOneLine);
}

bool is_fitted(const Calibration& calibration, const std::string& name) {
  return std::ranges::any_of(calibration.fitted, [&](const FittedParameter& fitted) {
    return fitted.parameter.name == name;
  });
}

/// The section `calibrated`, by which a run knows the bands of its own server; null where there are
/// none, or of several servers.
document::Node calibrated_node(const Calibration& calibration) {
  const accuracy::OwnBands& own = calibration.own;
  MapBuilder section;
  for (std::size_t axis = 0; axis < accuracy::kNumAxes; ++axis) {
    if (!own.server[axis].empty()) {
      section.add(accuracy::kAxisNames[axis], own.server[axis]);
    } else if (static_cast<accuracy::Axis>(axis) != accuracy::Axis::kLoop) {
      return {};
    }
  }
  const auto pair = [](const accuracy::Range& range) {
    const auto rounded = [](double value) {
      constexpr double kThousand = 1e3;
      return document::Node::real(std::round(kThousand * value) / kThousand, {});
    };
    return document::Node::list({rounded(range.low), rounded(range.high)}, {});
  };
  section.add("records", calibration.records);
  section.add("in_flight", pair(own.in_flight)).add("input_tokens", pair(own.input_tokens));
  for (const accuracy::Band& band : own.bands) {
    section.add(accuracy::kMetricNames[static_cast<std::size_t>(band.metric)],
                MapBuilder().add("p50", pair(band.p50)).add("p90", pair(band.p90)));
  }
  return section.build();
}

std::string fitted_lines(const Calibration& calibration) {
  std::string text;
  for (const auto& fitted : calibration.fitted) {
    const std::string interval =
        fitted.lowest && fitted.highest
            ? fmt::format("90 % interval {:.3f} to {:.3f}", *fitted.lowest, *fitted.highest)
            : "one record: no interval";
    text += fmt::format("  {}: {}  # {}, before {:.3f}{}\n",
                        fitted.parameter.name,
                        fitted.parameter.text(fitted.value),
                        interval,
                        fitted.before,
                        fitted.at_bound ? "; at its bound" : "");
  }
  return text;
}

std::string comments_of(const Calibration& calibration) {
  const auto errors = [](const FitErrors& of) {
    return fmt::format("{:.2f} / {:.2f}", of.median, of.mean);
  };
  std::string text = fmt::format(
      "# Times of one server, {}, fitted to {} measured record{} ({} figures).\n"
      "# For another network or GPU they are no more than a guess.\n"
      "# Absolute error, median / mean in percent: {} before, {} after,\n"
      "# {} on records left out of the fit.\n",
      calibration.server.text(),
      calibration.records,
      calibration.records == 1 ? "" : "s",
      calibration.figures,
      errors(calibration.before),
      errors(calibration.after),
      calibration.cross_validated ? errors(*calibration.cross_validated) : "unknown (one record)");
  if (!calibration.server.differing.empty()) {
    text += fmt::format("# Left to the user, as the records differ in it: {}.\n",
                        fmt::join(calibration.server.differing, ", "));
  }
  return text;
}

}  // namespace

std::string Server::text() const {
  return fmt::format("{}", fmt::join(names, ", "));
}

Server common_server(const std::vector<validate::Evidence>& evidence,
                     const std::vector<std::size_t>& records,
                     const std::vector<scenario::Override>& overrides) {
  Server server;
  std::vector<Setting> common;
  std::vector<std::string>& differing = server.differing;
  const auto differs = [&](const std::string& path) {
    if (std::ranges::find(differing, path) == differing.end()) {
      differing.push_back(path);
    }
  };
  for (const std::size_t record : records) {
    validate::Evidence copy = evidence[record];
    const auto resolved = validate::deploy(copy, overrides);
    if (!resolved) {
      continue;  // It was predicted: this does not happen.
    }
    const scenario::DeploymentSection& section = resolved->deployment->section;
    const std::string name = fmt::format("{} on {}", section.model, section.gpu);
    if (std::ranges::find(server.names, name) == server.names.end()) {
      server.names.push_back(name);
    }
    auto settings = stated_settings(*resolved);
    if (record == records.front()) {
      common = std::move(settings);
      continue;
    }
    const auto same_in = [](const std::vector<Setting>& all, const Setting& one) {
      return std::ranges::any_of(all, [&](const Setting& other) {
        return other.path() == one.path() &&
               json_of(other.value, document::JsonWriter::Layout::kOneLine) ==
                   json_of(one.value, document::JsonWriter::Layout::kOneLine);
      });
    };
    for (const auto& setting : settings) {
      if (!same_in(common, setting)) {
        differs(setting.path());
      }
    }
    for (const auto& setting : common) {
      if (!same_in(settings, setting)) {
        differs(setting.path());
      }
    }
  }
  std::erase_if(common, [&](const Setting& setting) {
    return std::ranges::find(differing, setting.path()) != differing.end();
  });
  server.settings = document_of(common);
  return server;
}

std::string server_yaml(const Calibration& calibration) {
  std::string text = comments_of(calibration);
  std::string stated_times;
  for (const auto& member : calibration.server.settings.members()) {
    const bool is_section = member.value.is_map() && member.key != "set";
    if (!is_section) {
      text += fmt::format("{}: {}\n", member.key, yaml_value(member.value));
      continue;
    }
    std::string lines;
    for (const auto& setting : member.value.members()) {
      if (member.key == "serving" && is_fitted(calibration, setting.key)) {
        continue;
      }
      lines += fmt::format("  {}: {}\n", setting.key, yaml_value(setting.value));
    }
    if (member.key == "serving") {
      stated_times = std::move(lines);
    } else {
      text += fmt::format("{}:\n{}", member.key, lines);
    }
  }
  text += "serving:\n" + stated_times + fitted_lines(calibration);
  if (const document::Node own = calibrated_node(calibration); !own.is_null()) {
    text +=
        "# How far predictions of this server are off, in percent, by measurements left out in "
        "turn.\ncalibrated:\n";
    for (const auto& member : own.members()) {
      text += fmt::format("  {}: {}\n", member.key, yaml_value(member.value));
    }
  }
  return text;
}

std::string server_json(const Calibration& calibration) {
  MapBuilder document;
  MapBuilder serving;
  for (const auto& member : calibration.server.settings.members()) {
    if (member.key != "serving") {
      document.add(member.key, member.value);
      continue;
    }
    for (const auto& setting : member.value.members()) {
      if (!is_fitted(calibration, setting.key)) {
        serving.add(setting.key, setting.value);
      }
    }
  }
  for (const auto& fitted : calibration.fitted) {
    serving.add(fitted.parameter.name, fitted.parameter.text(fitted.value));
  }
  document.add("serving", std::move(serving));
  if (document::Node own = calibrated_node(calibration); !own.is_null()) {
    document.add("calibrated", std::move(own));
  }
  return json_of(document.build(), document::JsonWriter::Layout::kIndented) + "\n";
}

}  // namespace ridgeline::evidence::calibrate
