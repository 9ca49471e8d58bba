#include "deploy/header.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/characters.hpp"
#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"
#include "document/yaml_writer.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::deploy {
namespace {

constexpr std::string_view kMark = "#: ";

/// "2 x 4 h100", and of prefill and decode apart "prefill 1 x 4 + decode 2 x 4 h100".
std::string gpus_text(const Layout& layout) {
  std::string text;
  for (const Role& role : layout.roles) {
    text += fmt::format("{}{}{} x {}",
                        text.empty() ? "" : " + ",
                        layout.is_apart() ? role.name + " " : "",
                        role.replicas,
                        role.gpus);
  }
  return fmt::format("{} {}", text, layout.roles.front().deployment->gpu.name);
}

/// Calls `take` with each line, without its break.
template <class Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

std::string header_text(const HeaderParts& parts) {
  const Layout& layout = parts.layout;
  std::string text = core::comment_line(fmt::format("{} on {}, {} {}. Written by ridgeline {}.",
                                                    layout.network,
                                                    gpus_text(layout),
                                                    layout.engine,
                                                    layout.engine_version,
                                                    parts.input.ridgeline));
  const std::string& plan = parts.input.plan_digest;
  text += core::comment_line(fmt::format("Scenario {}{}.",
                                         layout.scenario_digest,
                                         plan.empty() ? "" : fmt::format("; plan {}", plan)));
  for (const std::string& line : parts.input.predicted) {
    text += core::comment_line(line);
  }
  text += kAssumedLine;
  each_line(document::yaml_text(parts.assumed),
            [&](std::string_view line) { text += fmt::format("{}{}\n", kMark, line); });
  return text;
}

core::Result<document::Node> assumed_in(std::string_view text, const std::string& file) {
  std::string yaml;
  bool is_there = false;
  each_line(text, [&](std::string_view line) {
    if (line.starts_with(kMark)) {
      // Every line as much to the right: the places stay those of the file.
      yaml += std::string(kMark.size(), ' ') + std::string(line.substr(kMark.size()));
      is_there = true;
    }
    yaml += '\n';
  });
  return is_there ? document::parse_yaml(yaml, file) : document::Node::map({}, {.file = file});
}

}  // namespace ridgeline::deploy
