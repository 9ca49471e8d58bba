#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"

/// The command line of SGLang's server: its settings are flags of their own names, and those that
/// it reads from its environment are SGLANG_ and the name. Source: server_args.py and environ.py of
/// 0.5.9, as the settings of the engine say.
namespace ridgeline::deploy {
namespace {

using document::Node;

/// Options that SGLang's server has under another name.
struct Renamed {
  std::string_view option;
  std::string_view flag;
};
constexpr auto kRenamed = std::to_array<Renamed>({
    {"engine.tensor_parallel_size", "tp-size"},
    {"engine.pipeline_parallel_size", "pp-size"},
    {"engine.data_parallel_size", "dp-size"},
    {"engine.max_model_len", "context-length"},
    {"engine.enforce_eager", "disable-cuda-graph"},
});
constexpr auto kSameName = std::to_array<std::string_view>(
    {"engine.dtype", "engine.quantization", "engine.kv_cache_dtype"});
/// Stated always: what a plan chooses, and what defaults to the memory of the GPU.
constexpr auto kAlways = std::to_array<std::string_view>({"engine.tensor_parallel_size",
                                                          "engine.max_model_len",
                                                          "engine.mem_fraction_static",
                                                          "engine.max_running_requests",
                                                          "engine.chunked_prefill_size",
                                                          "engine.schedule_policy"});
constexpr auto kVariables =
    std::to_array<std::string_view>({"engine.init_new_token_ratio",
                                     "engine.min_new_token_ratio_factor",
                                     "engine.new_token_ratio_decay_steps",
                                     "engine.retract_decode_steps",
                                     "engine.clip_max_new_tokens_estimation"});
constexpr auto kOthers = std::to_array<std::string_view>({"host", "port", "served-model-name"});
constexpr std::string_view kVariablePrefix = "SGLANG_";

template <class List>
bool is_among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

std::string dashed(std::string_view option) {
  std::string flag(option.substr(option.find('.') + 1));
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string variable_of(std::string_view option) {
  std::string name(kVariablePrefix);
  for (const char c : option.substr(option.find('.') + 1)) {
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

/// Whether an option is a setting of SGLang by its own name.
bool is_own(std::string_view option) {
  const scenario::Option* found = scenario::find_option(option);
  return found != nullptr && found->section() == "engine" && !found->named_kind.empty();
}

bool sglang_says(std::string_view option) {
  return std::ranges::find(kRenamed, option, &Renamed::option) != kRenamed.end() ||
         is_among(kSameName, option) || is_own(option);
}

bool sglang_always(std::string_view option) {
  return is_among(kAlways, option);
}

std::string flag_of(std::string_view option) {
  const auto* const renamed = std::ranges::find(kRenamed, option, &Renamed::option);
  return renamed == kRenamed.end() ? dashed(option) : std::string(renamed->flag);
}

void put_sglang(std::span<const OptionValue> options,
                std::string_view /*version*/,
                Role& role,
                core::Errors& errors) {
  for (const OptionValue& option : options) {
    if (!sglang_says(option.option)) {
      if (option.is_stated && !option.is_default) {
        errors.push_back({.field = std::string(option.option),
                          .message = fmt::format("is {}, and no flag of SGLang says so",
                                                 scenario::flow_text(option.value)),
                          .hint = "without it"});
      }
      continue;
    }
    if (!is_explicit(kSglangDialect, option)) {
      continue;
    }
    const std::string text = scenario::flow_text(option.value);
    if (is_among(kVariables, option.option)) {
      role.variables.push_back({.name = variable_of(option.option), .value = text});
    } else if (option.value.kind() != Node::Kind::kBool) {
      role.flags.push_back({.name = "--" + flag_of(option.option), .value = text});
    } else if (option.value.as_bool()) {
      role.flags.push_back({.name = "--" + flag_of(option.option)});
    }
  }
}

/// The option that a flag is, or nothing.
std::string option_of(std::string_view flag) {
  const auto* const renamed = std::ranges::find(kRenamed, flag, &Renamed::flag);
  if (renamed != kRenamed.end()) {
    return std::string(renamed->option);
  }
  std::string key(flag);
  std::ranges::replace(key, '-', '_');
  const std::string option = "engine." + key;
  return sglang_says(option) && !is_among(kVariables, option) ? option : std::string();
}

OptionNodes read_sglang(std::span<const Word> words,
                        std::span<const Word> variables,
                        core::Errors& errors) {
  OptionNodes found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    const std::string name = word.text.substr(word.text.starts_with("--") ? 2 : 0);
    const std::string option = option_of(name);
    const bool has_value = i + 1 < words.size() && !words[i + 1].text.starts_with("--");
    if (!option.empty()) {
      found.emplace_back(option,
                         has_value ? typed_node(*scenario::find_option(option), words[i + 1])
                                   : Node::boolean(true, word.where));
    } else if (!is_among(kOthers, name)) {
      errors.push_back({.field = word.text,
                        .message = "is no flag that a deployment file is read for",
                        .where = word.where,
                        .hint = "`ridgeline help coming-from`"});
    }
    i += has_value ? 1 : 0;
  }
  for (const Word& word : variables) {
    const std::size_t equals = word.text.find('=');
    for (const std::string_view option : kVariables) {
      if (word.text.substr(0, equals) == variable_of(option)) {
        found.emplace_back(option,
                           typed_node(*scenario::find_option(option),
                                      {.text = word.text.substr(equals + 1), .where = word.where}));
      }
    }
  }
  return found;
}

}  // namespace

const Dialect kSglangDialect = {.engine = "sglang",
                                .says = sglang_says,
                                .always = sglang_always,
                                .put = put_sglang,
                                .read = read_sglang};

}  // namespace ridgeline::deploy
