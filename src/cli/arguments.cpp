#include "cli/arguments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "document/reader.hpp"
#include "verbs/request.hpp"

namespace ridgeline::cli {

namespace {

class Parser {
 public:
  Parser(std::span<const std::string> words, std::span<const FlagSpec> specs, FurtherFlags further)
      : words_(words), specs_(specs), read_further_(further) {}

  core::Result<Arguments> run() {
    bool flags_ended = false;
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (flags_ended || word.size() < 2 || word[0] != '-') {
        found_.positionals.push_back(word);
      } else if (word == "--") {
        flags_ended = true;
      } else if (word[1] == '-') {
        long_flag(word);
      } else {
        short_flag(word);
      }
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(found_);
  }

 private:
  void long_flag(const std::string& word) {
    const auto equals = word.find('=');
    const std::string typed = word.substr(0, equals);
    std::string name = typed.substr(2);
    std::ranges::replace(name, '_', '-');  // vLLM reads both.
    std::optional<std::string> value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    }
    if (!take_long(specs_, typed, name, value) && !take_long(further(), typed, name, value)) {
      unknown(typed, name);
    }
  }

  bool take_long(std::span<const FlagSpec> specs,
                 const std::string& typed,
                 const std::string& name,
                 const std::optional<std::string>& value) {
    constexpr std::string_view kNot = "no-";
    const std::string_view negated =
        name.starts_with(kNot) ? std::string_view(name).substr(kNot.size()) : std::string_view();
    for (const auto& spec : specs) {
      if (spec.name == name) {
        take(spec, typed, value);
        return true;
      }
      if (negated.empty() || spec.name != negated) {
        continue;
      }
      if (spec.takes == FlagSpec::Takes::kRefused || spec.takes == FlagSpec::Takes::kIgnored) {
        take(spec, typed, value);
        return true;
      }
      if (spec.takes == FlagSpec::Takes::kTruth) {
        if (value) {
          errors_.push_back(
              usage_error(typed, "takes no value", fmt::format("--{}={}", spec.name, *value)));
        } else {
          store(spec, typed, "false");
        }
        return true;
      }
    }
    return false;
  }

  /// The flags beside the verb's own.
  std::span<const FlagSpec> further() {
    if (read_further_ != nullptr) {
      further_ = std::exchange(read_further_, nullptr)(specs_);
    }
    return further_;
  }

  void short_flag(const std::string& word) {
    // vLLM's own: -tp 4, -tp=4.
    const std::string name = word.substr(1, word.find('=') - 1);
    const FlagSpec* alias = find_spec(specs_, name);
    if (alias == nullptr && name.size() > 1) {
      alias = find_spec(further(), name);
    }
    if (alias != nullptr && !alias->meaning.empty()) {
      const bool has_value = word.size() > name.size() + 1;
      take(*alias,
           "-" + name,
           has_value ? std::optional(word.substr(name.size() + 2)) : std::nullopt);
      return;
    }
    const std::string typed = word.substr(0, 2);
    const auto spec = std::ranges::find(specs_, word[1], &FlagSpec::letter);
    if (spec == specs_.end()) {
      errors_.push_back(usage_error(word, "no such flag", "flags are spelt out with two dashes"));
    } else if (word.size() > 2) {
      take(*spec, typed, word.substr(word[2] == '=' ? 3 : 2));
    } else {
      take(*spec, typed, std::nullopt);
    }
  }

  void take(const FlagSpec& spec, const std::string& typed, std::optional<std::string> value) {
    switch (spec.takes) {
      case FlagSpec::Takes::kRefused:
        errors_.push_back(usage_error(typed, spec.help));
        return;
      case FlagSpec::Takes::kIgnored:
        if (!value && !spec.value.empty() && at_ < words_.size() &&
            !core::is_flag_word(words_[at_])) {
          static_cast<void>(next_words(spec.many));
        }
        found_.ignored.push_back({.name = typed, .help = spec.help});
        return;
      case FlagSpec::Takes::kNothing:
        if (!value && !spec.value.empty() && at_ < words_.size() && words_[at_] == spec.value) {
          value = words_[at_++];
        }
        if (value && (spec.value.empty() || *value != spec.value)) {
          errors_.push_back(
              spec.value.empty()
                  ? usage_error(typed, fmt::format("takes no value, found \"{}\"", *value))
                  : usage_error(
                        typed,
                        fmt::format("found \"{}\", expected nothing or {}", *value, spec.value)));
          return;
        }
        store(spec, typed, value.value_or("true"));
        return;
      case FlagSpec::Takes::kTruth:
        if (!value && at_ < words_.size() && (words_[at_] == "true" || words_[at_] == "false")) {
          value = words_[at_++];
        }
        store(spec, typed, value.value_or("true"));
        return;
      case FlagSpec::Takes::kValue:
        if (!value) {
          if (at_ == words_.size() || core::is_flag_word(words_[at_])) {
            errors_.push_back(
                usage_error(typed, "a value is missing", fmt::format("{} {}", typed, spec.value)));
            return;
          }
          value = next_words(spec.many);
        }
        if (value->empty()) {
          errors_.push_back(usage_error(typed,
                                        fmt::format("is empty, expected {}", spec.value),
                                        "a shell variable that is not set?"));
          return;
        }
        store(spec, typed, std::move(*value));
        return;
    }
  }

  /// The next word, or all up to the next flag.
  std::string next_words(bool many) {
    std::string taken = words_[at_++];
    while (many && at_ < words_.size() && !core::is_flag_word(words_[at_])) {
      taken += " " + words_[at_++];
    }
    return taken;
  }

  void store(const FlagSpec& spec, const std::string& typed, std::string value) {
    const std::string& name = spec.meaning.empty() ? spec.name : spec.meaning;
    const GivenFlag* before = found_.find(name);
    if (before != nullptr && !spec.repeatable) {
      const std::string same = before->typed == typed ? "" : fmt::format(" (as {})", before->typed);
      errors_.push_back(usage_error(
          typed,
          fmt::format("given twice: first \"{}\"{}, then \"{}\"", before->value, same, value)));
      return;
    }
    found_.flags.push_back({.name = name, .value = std::move(value), .typed = typed});
  }

  void unknown(const std::string& typed, const std::string& name) {
    std::vector<std::string> names;
    for (const auto specs : {specs_, further()}) {
      for (const auto& spec : specs) {
        if (spec.takes == FlagSpec::Takes::kRefused || spec.takes == FlagSpec::Takes::kIgnored) {
          continue;
        }
        names.push_back(spec.name);
        if (spec.takes == FlagSpec::Takes::kTruth) {
          names.push_back("no-" + spec.name);
        }
      }
    }
    const auto near = document::nearest(name, names);
    errors_.push_back(
        usage_error(typed, "no such flag", near ? fmt::format("did you mean --{}?", *near) : ""));
  }

  std::span<const std::string> words_;
  std::span<const FlagSpec> specs_;
  FurtherFlags read_further_;  ///< Null once called.
  std::vector<FlagSpec> further_;
  std::size_t at_ = 0;
  Arguments found_;
  core::Errors errors_;
};

}  // namespace

const FlagSpec* find_spec(std::span<const FlagSpec> specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &FlagSpec::name);
  return found == specs.end() ? nullptr : &*found;
}

const GivenFlag* Arguments::find(std::string_view name) const {
  const auto flag = std::ranges::find(flags, name, &GivenFlag::name);
  return flag == flags.end() ? nullptr : &*flag;
}

std::string Arguments::value(std::string_view name, std::string_view otherwise) const {
  const GivenFlag* flag = find(name);
  return flag == nullptr ? std::string(otherwise) : flag->value;
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& flag : flags) {
    if (flag.name == name) {
      all.push_back(flag.value);
    }
  }
  return all;
}

core::Result<Arguments> parse_arguments(std::span<const std::string> words,
                                        std::span<const FlagSpec> specs,
                                        FurtherFlags further) {
  return Parser(words, specs, further).run();
}

core::Error usage_error(std::string_view field, std::string message, std::string hint) {
  return {.field = std::string(field),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

core::Error bad_choice(std::string_view flag,
                       std::string_view value,
                       std::span<const std::string> choices) {
  return verbs::bad_choice(fmt::format("--{}", flag), value, choices);
}

core::Result<std::int64_t> read_count(const Arguments& arguments,
                                      std::string_view flag,
                                      std::int64_t otherwise,
                                      std::int64_t highest) {
  const std::string text = arguments.value(flag);
  if (text.empty()) {
    return otherwise;
  }
  const auto value = core::parse_whole<std::int64_t>(text);
  if (!value || *value < 1 || *value > highest) {
    return core::fail(
        usage_error(fmt::format("--{}", flag),
                    fmt::format("\"{}\" is out of range, expected 1 to {}", text, highest)));
  }
  return *value;
}

core::Result<std::int64_t> read_jobs(const Arguments& arguments) {
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  return read_count(arguments, "jobs", cores, kMostThreads);
}

}  // namespace ridgeline::cli
