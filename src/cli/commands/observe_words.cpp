#include "cli/commands/observe_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/trace_flags.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "observe/observation.hpp"
#include "observe/prompts.hpp"
#include "observe/stop_rules.hpp"
#include "observe/target.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::int64_t kMostInFlight = 16'384;
constexpr std::int64_t kDefaultRate = 1000;
constexpr std::int64_t kHighestRate = 1'000'000;
/// Descriptors that are not connections: files, the clock, the terminal.
constexpr std::int64_t kOtherDescriptors = 64;
constexpr core::Duration kDefaultTimeout = core::Duration::seconds(21'600);
constexpr core::Duration kDefaultScrape = core::Duration::seconds(1);
constexpr std::size_t kMostKeyBytes = 4096;
constexpr std::int64_t kMostWarmUp = 1'000'000'000;

core::Error flag_error(std::string_view flag, std::string message, std::string hint = {}) {
  return usage_error(fmt::format("--{}", flag), std::move(message), std::move(hint));
}

/// Connections that this process may open at once, with the soft limit raised to the hard one.
std::int64_t most_connections() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t most = std::min<std::uint64_t>(limit.rlim_cur, kMostInFlight * 2);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(most) - kOtherDescriptors);
}

class Reader {
 public:
  explicit Reader(Arguments& arguments) : arguments_(arguments) {}

  core::Result<ObserveWords> read() {
    target();
    words_.allow_remote = arguments_.has("allow-remote");
    words_.served_model = arguments_.value("served-model-name");
    auto& prompts = words_.options.prompts;
    prompts.endpoint = choice("endpoint", {"completions", "chat"}) == "chat"
                           ? observe::Endpoint::kChat
                           : observe::Endpoint::kCompletions;
    prompts.form = choice("prompt", {"words", "tokens"}) == "tokens" ? observe::PromptForm::kTokens
                                                                     : observe::PromptForm::kWords;
    prompts.natural_output = choice("answers", {"forced", "natural"}) == "natural";
    if (prompts.endpoint == observe::Endpoint::kChat &&
        prompts.form == observe::PromptForm::kTokens) {
      errors_.push_back(flag_error("prompt",
                                   "a chat has no prompt of token ids",
                                   "--endpoint completions, or --prompt words"));
    }
    limits();
    warm_up();
    words_.options.timeout = time("timeout", kDefaultTimeout);
    words_.options.scrape_every = time("scrape", kDefaultScrape);
    stop_rules();
    key();
    record();
    // Some of them are called like an option of a scenario, which has another meaning.
    const auto own = observe_flags();
    std::erase_if(arguments_.flags, [&](const GivenFlag& flag) {
      return std::ranges::find(own, flag.name, &FlagSpec::name) != own.end();
    });
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(words_);
  }

 private:
  void target() {
    if (arguments_.positionals.empty()) {
      errors_.push_back(
          usage_error("",
                      "found no server, expected its URL",
                      "ridgeline observe http://127.0.0.1:8000 --request-rate 2 ..."));
      return;
    }
    auto target = observe::parse_target(arguments_.positionals.front());
    keep_errors(target, errors_);
    if (target) {
      words_.target = std::move(*target);
    }
    arguments_.positionals.erase(arguments_.positionals.begin());
  }

  std::string choice(std::string_view flag, const std::array<std::string, 2>& choices) {
    const std::string value = arguments_.value(flag, choices.front());
    if (std::ranges::find(choices, value) == choices.end()) {
      errors_.push_back(bad_choice(flag, value, choices));
    }
    return value;
  }

  std::int64_t count(std::string_view flag, std::int64_t otherwise, std::int64_t highest) {
    const auto read = read_count(arguments_, flag, otherwise, highest);
    keep_errors(read, errors_);
    return read.value_or(otherwise);
  }

  void limits() {
    const std::int64_t connections = most_connections();
    auto& options = words_.options;
    options.max_in_flight =
        count("max-in-flight", std::min(connections, kMostInFlight), connections);
    options.max_rate = count("max-rate", kDefaultRate, kHighestRate);
    const std::string use = arguments_.value("connections", "reuse");
    if (const auto number = core::parse_whole<std::int64_t>(use); number && *number > 0) {
      options.max_in_flight = std::min(options.max_in_flight, *number);
    } else if (use != "reuse" && use != "new") {
      errors_.push_back(
          flag_error("connections",
                     fmt::format("found {}, expected reuse, new or a number of connections",
                                 core::quote(use))));
    }
    words_.fresh_connections = use == "new";
    constexpr std::int64_t kMostWorkers = 64;
    options.workers = count("workers", 1, kMostWorkers);
  }

  void warm_up() {
    const std::string text = arguments_.value("warmup", "0");
    if (const auto number = core::parse_whole<std::int64_t>(text);
        number && *number >= 0 && *number <= kMostWarmUp) {
      words_.options.warm_up_requests = *number;
      return;
    }
    words_.options.warm_up_time = time("warmup", {});
  }

  core::Duration time(std::string_view flag, core::Duration otherwise) {
    if (!arguments_.has(flag)) {
      return otherwise;
    }
    const std::string text = arguments_.value(flag);
    const auto seconds = document::parse_quantity(text == "0" ? "0s" : text, "seconds");
    const auto time = seconds ? core::Duration::from_seconds(*seconds) : std::nullopt;
    if (!time) {
      errors_.push_back(
          flag_error(flag, fmt::format("found {}, expected a time: 30s", core::quote(text))));
    }
    return time.value_or(otherwise);
  }

  void stop_rules() {
    for (const auto& text : arguments_.values("stop-when")) {
      if (text == "never") {
        words_.options.stop_when_gone = false;
        continue;
      }
      auto rule = observe::parse_stop_rule(text);
      keep_errors(rule, errors_);
      if (rule) {
        words_.options.stop_when.push_back(std::move(*rule));
      }
    }
  }

  void key() {
    std::string key;
    if (arguments_.has("api-key-file")) {
      const auto text = document::read_file(arguments_.value("api-key-file"), kMostKeyBytes);
      keep_errors(text, errors_);
      key = text.value_or("");
    } else if (const char* const set = std::getenv("OPENAI_API_KEY"); set != nullptr) {
      key = set;
    }
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' ')) {
      key.pop_back();
    }
    const bool sound = std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7f'; });
    if (!sound) {
      // Not shown: it is a secret.
      errors_.push_back(
          flag_error("api-key-file", "the key is no line of printable ASCII characters"));
      return;
    }
    words_.api_key = std::move(key);
  }

  void record() {
    const auto files = arguments_.values("output");
    if (files.size() > 1) {
      errors_.push_back(flag_error("output", "found several files, expected one record"));
    }
    words_.record = files.empty() ? "" : files.front();
    words_.resume = arguments_.has("resume");
    if (words_.resume && words_.record.empty()) {
      errors_.push_back(flag_error(
          "resume", "there is no record to go on with", "-o FILE, the record of the first part"));
    }
    if (arguments_.has("prompt-salt")) {
      const auto salt =
          whole_number(arguments_, "prompt-salt", 0, std::numeric_limits<std::int64_t>::max());
      keep_errors(salt, errors_);
      words_.salt = static_cast<std::uint64_t>(salt.value_or(0));
    }
  }

  Arguments& arguments_;
  ObserveWords words_;
  core::Errors errors_;
};

}  // namespace

std::vector<FlagSpec> observe_flags() {
  using Takes = FlagSpec::Takes;
  return {
      {.name = "output",
       .letter = 'o',
       .value = "FILE",
       .help = "The record: JSON lines that validate, calibrate, replay and trace read"},
      {.name = "resume",
       .takes = Takes::kNothing,
       .help = "Goes on with the record of -o: sends what it lacks"},
      {.name = "endpoint", .value = "completions|chat", .help = "What is asked [completions]"},
      {.name = "served-model-name",
       .value = "NAME",
       .help = "The model as the server calls it [the first of its list]"},
      {.name = "prompt",
       .value = "words|tokens",
       .help = "Prompts of words that are one token each, or of token ids [words]"},
      {.name = "prompt-salt",
       .value = "N",
       .help = "Prompts of an earlier run's numbers; by itself no two runs share any"},
      {.name = "answers",
       .value = "forced|natural",
       .help = "Of exactly the workload's lengths, or as the model ends them [forced]"},
      {.name = "warmup",
       .value = "TIME|N",
       .help = "Requests due before it, or the first N, are sent and not counted"},
      {.name = "max-in-flight",
       .value = "N",
       .help = "Requests beyond it wait at the client [16384]"},
      {.name = "max-rate", .value = "N", .help = "Requests sent within any second, at most [1000]"},
      {.name = "connections",
       .value = "reuse|new|N",
       .help = "Open ones are used again, or each request opens one, or at most N [reuse]"},
      {.name = "workers",
       .value = "N",
       .help = "Threads that send and read, each with connections of its own [1]"},
      {.name = "timeout", .value = "TIME", .help = "For one request [6h]"},
      {.name = "scrape",
       .value = "TIME",
       .help = "Between looks at the server's /metrics; 0: none [1s]"},
      {.name = "stop-when",
       .repeatable = true,
       .value = "RULE",
       .help = "Ends early: 'errors>5%', 'ttft_p99>10s', 'in_flight>5000'; 'never': not even "
               "when the server seems to be gone"},
      {.name = "allow-remote",
       .takes = Takes::kNothing,
       .help = "Loads a server that is not on this machine: it must be yours to load"},
      {.name = "api-key-file",
       .value = "FILE",
       .help = "The server's key [OPENAI_API_KEY]; it is never stored"},
  };
}

core::Result<ObserveWords> read_observe_words(Arguments& arguments) {
  return Reader(arguments).read();
}

}  // namespace ridgeline::cli
