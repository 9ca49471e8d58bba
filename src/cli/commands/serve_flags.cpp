#include "cli/commands/serve_flags.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"

namespace ridgeline::cli {
namespace {

using Takes = FlagSpec::Takes;

std::vector<FlagSpec> answer_flags() {
  return {
      {.name = "host", .value = "ADDRESS", .help = "Where to listen [127.0.0.1]"},
      {.name = "port", .value = "N", .help = "Its port; 0: any that is free [8000]"},
      {.name = "uds", .value = "PATH", .help = "A UNIX socket instead"},
      {.name = "served-model-name",
       .repeatable = true,
       .many = true,
       .value = "NAME",
       .help = "Names of the model; the first is in answers [its Hugging Face id]"},
      {.name = "api-key",
       .repeatable = true,
       .value = "KEY",
       .help = "Asked of clients under /v1 [VLLM_API_KEY, else none]"},
      {.name = "listen",
       .value = "one|each",
       .help = "One port for all instances, or one for each, for a gateway in front [one]"},
      {.name = "speed", .value = "FACTOR", .help = "Simulated seconds in a second [1]"},
      {.name = "path",
       .value = "full|server",
       .help = "When tokens leave: when run says that a client sees them, or when the server is "
               "done with them [full]"},
      {.name = "answer",
       .value = "words|echo|FILE",
       .help = "The text of answers: words, the prompt's own, or lines of "
               "{\"prompt\": ..., \"answer\": ...} [words]"},
      {.name = "tokenizer",
       .value = "words|FILE",
       .help =
           "Counts tokens by a network's tokenizer.json (or its folder); words: estimated where "
           "a text is not one of listed words [words]"},
      {.name = "output-len",
       .value = "LENGTH",
       .help = "Length of answers whose client does not force it [what it asks for at most; mean "
               "256 where it names no limit]"},
      {.name = "chat-tokens",
       .value = "FIXED,PER_MESSAGE,START",
       .help = "Special tokens of the chat template [the family's]"},
      {.name = "bos-tokens", .value = "N", .help = "Special tokens before a completion's text [0]"},
      {.name = "image-tokens", .value = "N", .help = "Tokens of an image [576]"},
      {.name = "stream-interval", .value = "N", .help = "Tokens in an event, after the first [1]"},
      {.name = "max-logprobs",
       .value = "N",
       .help = "Most logprobs that a request may ask for; -1: any number [20]"},
  };
}

std::vector<FlagSpec> limit_flags() {
  return {
      {.name = "max-connections", .value = "N", .help = "Others get 503 [16384]"},
      {.name = "max-waiting",
       .value = "N",
       .help = "Requests in the queue beyond which others get 429; 0: no limit [0]"},
      {.name = "max-body", .value = "SIZE", .help = "Of a request [32MiB]"},
      {.name = "write-timeout",
       .value = "TIME",
       .help = "How long a client may take none of its answer [120s]"},
      {.name = "shutdown-timeout",
       .value = "TIME",
       .help = "What answers under way get after SIGTERM [30s]"},
      {.name = "startup-time", .value = "TIME", .help = "Before it /health answers 503 [0s]"},
      {.name = "arrival-log",
       .value = "FILE.jsonl",
       .help = "Every request with its time, for replay --trace"},
      {.name = "admin-port",
       .value = "N",
       .help = "A port of loopback for GET /state, PUT /faults and PUT /drain [none]"},
      {.name = "request-fault",
       .repeatable = true,
       .value = "kind=KIND,share=P,...",
       .help = "Strikes a share of the requests (error, stall, disconnect) or the server (die)"},
      {.name = "allow-fault-headers",
       .takes = Takes::kNothing,
       .help = "A request with X-Return-Error: N gets N"},
  };
}

std::vector<FlagSpec> vllm_flags() {
  return {
      {.name = "lora-modules",
       .repeatable = true,
       .many = true,
       .value = "NAME=PATH",
       .help = "Adapters, served under their names"},
      {.name = "kv-events-config",
       .value = "JSON",
       .help = "Tells over ZeroMQ which blocks the prefix cache has: enable_kv_cache_events, "
               "endpoint, replay_endpoint, topic and more, as vLLM takes them; * is --host"},
      {.name = "enable-auto-tool-choice",
       .takes = Takes::kNothing,
       .help = "Answers call tools where the client leaves it open"},
      {.name = "tool-call-parser", .value = "NAME", .help = "Any: tools can be called"},
      {.name = "reasoning-parser", .value = "NAME", .help = "Any, for --reasoning-share"},
      {.name = "reasoning-share",
       .value = "SHARE",
       .help = "Of a chat's answer, that is reasoning [0]"},
      {.name = "enable-request-id-headers",
       .takes = Takes::kNothing,
       .help = "X-Request-Id comes back"},
      {.name = "enable-force-include-usage",
       .takes = Takes::kNothing,
       .help = "Usage in every event"},
      {.name = "enable-prompt-tokens-details",
       .takes = Takes::kNothing,
       .help = "Usage says how many prompt tokens were cached"},
      {.name = "enable-server-load-tracking",
       .takes = Takes::kNothing,
       .help = "/load counts answers under way"},
  };
}

}  // namespace

std::vector<FlagSpec> serve_flags() {
  std::vector<FlagSpec> flags = answer_flags();
  for (auto& more : {limit_flags(), vllm_flags()}) {
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

std::vector<FlagSpec> all_serve_flags() {
  std::vector<FlagSpec> flags = serve_flags();
  const auto is_of_workload = [](std::string_view flag) {
    const auto option = std::ranges::find(scenario::options(), flag, &scenario::Option::flag);
    return option != scenario::options().end() && option->path.starts_with("workload.");
  };
  for (FlagSpec& flag : scenario_flags(ScenarioPart::kWhole)) {
    const bool is_own = std::ranges::find(flags, flag.name, &FlagSpec::name) != flags.end();
    if (!is_own && !is_of_workload(flag.meaning.empty() ? flag.name : flag.meaning)) {
      flags.push_back(std::move(flag));
    }
  }
  return flags;
}

namespace {

/// A value of the section as the flag of the same name takes it; nothing for maps.
std::optional<std::string> flag_text(const document::Node& node) {
  using Kind = document::Node::Kind;
  switch (node.kind()) {
    case Kind::kString:
      return node.as_string();
    case Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case Kind::kInteger:
    case Kind::kReal:
      return node.describe();
    case Kind::kMap: {
      // A fault, as --request-fault writes it.
      std::string text;
      for (const document::Node::Member& member : node.members()) {
        const auto value = member.value.is_map() ? std::nullopt : flag_text(member.value);
        if (!value) {
          return std::nullopt;
        }
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", member.key, *value);
      }
      return text;
    }
    case Kind::kNull:
    case Kind::kList:
      break;
  }
  return std::nullopt;
}

/// Adds one key of the section to the flags, unless the command line gave it.
void add_key(const document::Node::Member& member, Arguments& arguments, core::Errors& errors) {
  const auto refuse = [&](std::string message) {
    errors.push_back({.field = fmt::format("serve.{}", member.key),
                      .message = std::move(message),
                      .where = member.where});
  };
  std::string flag = member.key == "faults" ? "request-fault" : member.key;
  std::ranges::replace(flag, '_', '-');
  const auto specs = serve_flags();
  const auto spec = std::ranges::find(specs, flag, &FlagSpec::name);
  if (spec == specs.end()) {
    refuse("unknown key: the section takes the flags of `serve`, with _ for -");
    return;
  }
  if (arguments.has(flag) || member.value.is_null()) {
    return;
  }
  const bool is_list = member.value.is_list();
  if (is_list && !spec->repeatable) {
    refuse("found a list, expected one value");
    return;
  }
  const std::vector<document::Node> one = {member.value};
  for (const document::Node& item : is_list ? member.value.items() : one) {
    const auto text = flag_text(item);
    if (!text || (item.is_map() && flag != "request-fault")) {
      refuse(fmt::format("found {}, expected a value", item.describe()));
      return;
    }
    if (spec->takes == FlagSpec::Takes::kNothing && *text != "true" && *text != "false") {
      refuse(fmt::format("found {}, expected true or false", item.describe()));
      return;
    }
    if (spec->takes != FlagSpec::Takes::kNothing || *text == "true") {
      arguments.flags.push_back({.name = flag, .value = *text, .typed = "serve." + member.key});
    }
  }
}

}  // namespace

core::Result<void> add_serve_section(Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return {};
  }
  // What else is wrong with the file is said where the scenario is read.
  const auto file = document::read_document(arguments.positionals.front());
  const document::Node* const section = file ? file->find("serve") : nullptr;
  core::Errors errors;
  if (section != nullptr && !section->is_null()) {
    if (!section->is_map()) {
      errors.push_back({.field = "serve",
                        .message = fmt::format("found {}, expected a map", section->describe()),
                        .where = section->where()});
    } else {
      for (const document::Node::Member& member : section->members()) {
        add_key(member, arguments, errors);
      }
    }
  }
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

}  // namespace ridgeline::cli
