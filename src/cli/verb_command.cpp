#include "cli/verb_command.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/plan_words.hpp"
#include "cli/commands/run_files.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/laboratory.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

using document::Node;
using verbs::Parameter;
using Kind = verbs::Parameter::Kind;

std::string flag_name(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return name;
}

FlagSpec flag_of(const Parameter& parameter) {
  return {.name = flag_name(parameter.key),
          .takes =
              parameter.kind == Kind::kSwitch ? FlagSpec::Takes::kNothing : FlagSpec::Takes::kValue,
          .repeatable = parameter.kind == Kind::kEach,
          .letter = parameter.letter,
          .value = parameter.value,
          .help = parameter.help};
}

std::vector<FlagSpec> hosts_flags(std::string_view group) {
  return group == "aiconfigurator" ? aiconfigurator_flags() : run_flags(group);
}

std::vector<FlagSpec> flags_of(const verbs::Verb& verb, const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::kScenario:
      return scenario_flags(verb.scenario);
    case Kind::kManners:
      return manner_flags(fmt::format("{}", fmt::join(verb.formats, "|")));
    case Kind::kHosts:
      return hosts_flags(parameter.key);
    case Kind::kOutput:
    case Kind::kOpen:
    case Kind::kScenarioFile:
      return {output_flag()};
    case Kind::kProgress:
      return {progress_flag()};
    default:
      return {flag_of(parameter)};
  }
}

/// The value of a flag as a request has it; null where it is no key of one, or not given.
Node value_of(const Parameter& parameter, const Arguments& arguments) {
  const core::Location where = {.file = "command line"};
  const GivenFlag* const flag = arguments.find(flag_name(parameter.key));
  if (flag == nullptr) {
    return {};
  }
  std::vector<Node> items;
  switch (parameter.kind) {
    case Kind::kText:
      return Node::string(flag->value, where);
    case Kind::kSwitch:
      return Node::boolean(true, where);
    case Kind::kWords:
      for (std::string& word : verbs::split_list(flag->value)) {
        items.push_back(Node::string(std::move(word), where));
      }
      return Node::list(std::move(items), where);
    case Kind::kEach:
      for (std::string& word : arguments.values(flag->name)) {
        items.push_back(Node::string(std::move(word), where));
      }
      return Node::list(std::move(items), where);
    default:
      return {};
  }
}

class Guard final : public verbs::Host::Watch {
 private:
  InterruptGuard guard_;
};

}  // namespace

Opening opening_of(const verbs::Verb& verb) {
  Opening opening{.usage = verb.usage, .about = verb.about, .flags = {}, .formats = verb.formats};
  bool has_manners = false;
  for (const Parameter& parameter : verb.parameters) {
    has_manners = has_manners || parameter.kind == Kind::kManners;
    for (FlagSpec& flag : flags_of(verb, parameter)) {
      opening.flags.push_back(std::move(flag));
    }
  }
  return has_manners ? opening
                     : with_manner_flags(std::move(opening),
                                         fmt::format("{}", fmt::join(verb.formats, "|")));
}

verbs::Request request_of(const verbs::Verb& verb, const Arguments& arguments) {
  std::vector<Node::Member> members;
  for (const Parameter& parameter : verb.parameters) {
    if (Node value = value_of(parameter, arguments); !value.is_null()) {
      members.push_back({.key = parameter.key, .value = std::move(value), .where = {}});
    }
  }
  if (verb.words.empty()) {
    auto stated = verb.scenario == verbs::ScenarioPart::kNone
                      ? core::Result<StatedScenario>(StatedScenario{})
                      : stated_scenario(arguments, verb.purpose);
    return {std::move(members), std::move(stated)};
  }
  std::vector<Node> words;
  for (const std::string& word : arguments.positionals) {
    words.push_back(Node::string(word, {.file = "command line"}));
  }
  members.push_back({.key = verb.words, .value = Node::list(std::move(words), {}), .where = {}});
  return {std::move(members), StatedScenario{.file = {}, .overrides = what_ifs(arguments)}};
}

core::Result<void> TerminalHost::open_progress() {
  const auto mode = progress_mode(arguments_, manners_.err);
  display_.emplace(mode.value_or(ProgressDisplay::Mode::kNever), manners_.err);
  return mode ? core::Result<void>() : core::fail(mode.error());
}

core::Result<void> TerminalHost::open_files() {
  core::Errors errors;
  keep_errors(open_progress(), errors);
  for (const Parameter& parameter : verb_.parameters) {
    if (parameter.kind == Kind::kOutput) {
      auto outputs = VerbOutputs::open(arguments_, manners_, verb_.formats);
      keep_errors(outputs, errors);
      if (outputs) {
        outputs_.emplace(std::move(*outputs));
      }
    } else if (parameter.kind == Kind::kFile || parameter.kind == Kind::kScenarioFile) {
      open_artefact(parameter, errors);
    }
  }
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

void TerminalHost::open_artefact(const Parameter& parameter, core::Errors& errors) {
  for (const std::string& path : arguments_.values(flag_name(parameter.key))) {
    std::string name = parameter.key;
    if (parameter.kind == Kind::kScenarioFile) {
      // A scenario is read as YAML or JSON by its name, so no other name is written.
      name = path.ends_with(".json") ? "json" : "yaml";
      if (!(path == "-" || path.starts_with("/dev/") || path.ends_with(".yaml") ||
            path.ends_with(".yml") || path.ends_with(".json"))) {
        errors.push_back(usage_error(
            "--output",
            fmt::format("'{}' is a scenario, expected a name that ends in .yaml, .yml or .json",
                        path)));
        continue;
      }
    }
    auto file = OutputFile::open("--" + flag_name(parameter.key), path);
    keep_errors(file, errors);
    if (file && name == "svg" && !path.ends_with(".svg") && !OutputFile::is_direct(path)) {
      errors.push_back(
          usage_error("--svg",
                      fmt::format("'{}' is no name of an SVG file, expected .svg", path),
                      "--svg picture.svg"));
    }
    if (file) {
      artefacts_.push_back({.file = std::move(*file), .name = std::move(name)});
    }
  }
}

core::Result<std::ostream*> TerminalHost::open(std::string_view key) {
  const std::string flag = flag_name(key);
  const std::vector<std::string> paths = arguments_.values(flag);
  if (paths.empty()) {
    return nullptr;
  }
  if (paths.size() > 1) {
    return core::fail(usage_error("--" + flag, "is given twice, expected one file"));
  }
  auto file = OutputFile::open("--" + flag, paths.front());
  if (!file) {
    return core::fail(std::move(file).error());
  }
  opened_.push_back(std::move(*file));
  return &opened_.back().stream();
}

void TerminalHost::warn(const core::Warning& warning) {
  static_cast<void>(write_all(STDERR_FILENO, render(warning, manners_.err)));
}

std::optional<int> TerminalHost::hand_over(
    const std::vector<evidence::validate::Evidence>& records) {
  if (!needs_laboratory(records)) {
    return std::nullopt;
  }
  outputs_.reset();  // The other program writes the files.
  artefacts_.clear();
  return static_cast<int>(run_laboratory(verb_.name, words_));
}

bool TerminalHost::wants(std::string_view format) const {
  return manners_.format == format || (outputs_ && outputs_->has(format)) ||
         std::ranges::find(artefacts_, format, &Artefact::name) != artefacts_.end();
}

std::unique_ptr<verbs::Host::Watch> TerminalHost::watch(Work /*work*/) {
  return verb_.has_parts ? std::make_unique<Guard>() : nullptr;
}

const std::atomic<bool>& TerminalHost::stop() const {
  return InterruptGuard::flag();
}

int TerminalHost::stopped() const {
  return static_cast<int>(InterruptGuard::exit_code());
}

core::Result<void> TerminalHost::complete_files(const verbs::Reply& reply) {
  for (OutputFile& file : opened_) {
    if (auto done = file.commit(); !done) {
      return done;
    }
  }
  for (auto& [file, name] : artefacts_) {
    const auto made = reply.artefacts.find(name);
    if (made == reply.artefacts.end()) {
      continue;
    }
    file.stream() << made->second();
    if (auto done = file.commit(); !done) {
      return done;
    }
  }
  return {};
}

ExitCode TerminalHost::answer(const core::Result<verbs::Reply>& reply) {
  finish_progress();
  if (!reply) {
    return give_up(reply.error(), manners_);
  }
  if (const auto done = complete_files(*reply); !done) {
    return give_up(done.error(), manners_);
  }
  static_cast<void>(write_all(STDERR_FILENO, reply->notes));
  for (const core::Warning& warning : reply->warnings) {
    warn(warning);
  }
  if (!reply->usual_format.empty() && !arguments_.has("format") && manners_.format != kQuiet) {
    manners_.format = reply->usual_format;
  }
  if (!reply->usual_format.empty() && manners_.format != kQuiet &&
      !reply->views.contains(manners_.format)) {
    std::vector<std::string> formats;
    for (const auto& [format, view] : reply->views) {
      formats.push_back(format);
    }
    return give_up({bad_choice("format", manners_.format, formats)}, manners_);
  }
  const auto show = [&](std::string_view format, const report::TextStyle& style) {
    return reply->text(format, style).value_or("");
  };
  const ExitCode shown =
      outputs_ && !reply->is_aside
          ? outputs_->put_out(show, manners_)
          : put_out(show(reply->is_aside ? "table" : manners_.format, text_style(manners_.out)),
                    manners_);
  print_errors(reply->errors, manners_.err);
  return shown == ExitCode::kOk ? static_cast<ExitCode>(reply->code) : shown;
}

ExitCode verb_command(const verbs::Verb& verb, Words words) {
  const std::vector<std::string> all(words.begin(), words.end());
  if (const auto refused = verb.refuse == nullptr ? std::nullopt : verb.refuse(all)) {
    return give_up({*refused}, default_manners());
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening_of(verb), words, arguments, manners)) {
    return *code;
  }
  if (verb.shows_one && arguments.has("output") && !arguments.has("format")) {
    manners.format = kQuiet;
  }
  core::Errors errors;
  take_aiconfigurator_words(arguments, errors);
  TerminalHost host(verb, arguments, manners, words);
  if (const auto open = host.open_files(); !open) {
    return give_up(open.error(), manners);
  }
  verbs::Request request = request_of(verb, arguments);
  request.keep(errors.empty() ? core::Result<void>() : core::fail(std::move(errors)));
  return host.answer(verb.run(request, host));
}

}  // namespace ridgeline::cli
