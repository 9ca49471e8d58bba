#include "deploy/shell.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "core/text.hpp"
#include "deploy/flags.hpp"
#include "deploy/layout.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {
namespace {

constexpr std::string_view kDevices = "CUDA_VISIBLE_DEVICES=";
constexpr std::string_view kDockerDevices = "device=";

/// Splits a script into commands of words.
class Splitter {
 public:
  Splitter(std::string_view text, const std::string& file, core::Errors& errors)
      : text_(text), file_(file), positions_(text), errors_(errors) {}

  std::vector<std::vector<Word>> run() {
    while (at_ < text_.size()) {
      step();
    }
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) {
      if (text_[at_ + 1] == '\n') {
        end_word();
      } else {
        put(text_[at_ + 1]);
      }
      at_ += 2;
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n' || c == '&' || c == ';') {
      end_command();
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
      ++at_;
    } else {
      put(c);
      ++at_;
    }
  }

  void quoted(char quote) {
    begin_word();
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
      }
      word_.text += text_[at_++];
    }
    if (at_ >= text_.size()) {
      const auto where = positions_.at(start);
      errors_.push_back({.message = fmt::format("{} without its end", quote),
                         .where = {.file = file_, .line = where.line, .column = where.column}});
    }
    ++at_;
  }

  void begin_word() {
    if (!in_word_) {
      const auto where = positions_.at(at_);
      word_ = {.text = {}, .where = {.file = file_, .line = where.line, .column = where.column}};
      in_word_ = true;
    }
  }
  void put(char c) {
    begin_word();
    word_.text += c;
  }
  void end_word() {
    if (in_word_) {
      command_.push_back(word_);
      in_word_ = false;
    }
  }
  void end_command() {
    end_word();
    if (!command_.empty()) {
      commands_.push_back(std::move(command_));
      command_.clear();
    }
  }

  std::string_view text_;
  const std::string& file_;
  core::TextPositions positions_;
  core::Errors& errors_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  Word word_;
  std::vector<Word> command_;
  std::vector<std::vector<Word>> commands_;
};

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::ranges::all_of(word.substr(0, equals), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

/// The GPUs of a list behind `mark`: as many as it has numbers.
std::optional<std::int64_t> devices_in(std::string_view word, std::string_view mark) {
  const std::size_t found = word.find(mark);
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  return 1 + std::ranges::count(word.substr(found), ',');
}

bool has_word(const std::vector<Word>& words, std::string_view text) {
  return std::ranges::find(words, text, &Word::text) != words.end();
}

/// The nodes that share a replica's flags.
std::int64_t nodes_in(const std::vector<Word>& words) {
  const auto flag = std::ranges::find(words, "--nnodes", &Word::text);
  const bool has_value = flag != words.end() && flag + 1 != words.end();
  return std::max<std::int64_t>(1, has_value ? read_count((flag + 1)->text).value_or(1) : 1);
}

/// The server that a command starts, if it does.
std::optional<ServerFound> server_of(const std::vector<Word>& command) {
  const auto is = [&](std::size_t i, std::string_view text) {
    return i < command.size() && command[i].text == text;
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool is_docker = i > 0 && is(i, "serve") && is(0, "docker");
    const bool is_vllm = i > 0 && is(i, "serve") && command[i - 1].text.ends_with("vllm");
    const bool is_sglang = is(i, "sglang.launch_server");
    if (!is_docker && !is_vllm && !is_sglang) {
      continue;
    }
    ServerFound server{.role = "serve"};
    std::size_t next = i + 1;
    if (is_sglang && is(next, "--model-path")) {
      ++next;
    }
    if (next < command.size()) {
      server.network = command[next++];
    }
    server.words.assign(
        command.begin() + static_cast<std::ptrdiff_t>(std::min(next, command.size())),
        command.end());
    for (std::size_t before = 0; before < i; ++before) {
      const std::string& text = command[before].text;
      if (const auto gpus =
              devices_in(text, text.starts_with(kDevices) ? kDevices : kDockerDevices)) {
        server.gpus = gpus;
      } else if (is_assignment(text)) {
        server.variables.push_back(command[before]);
      }
    }
    if (server.gpus) {
      *server.gpus *= nodes_in(server.words);
    }
    if (is_docker || (is_sglang && is(0, "docker"))) {
      server.image = command[is_docker ? i - 1 : i - 3];
    }
    return server;
  }
  return std::nullopt;
}

}  // namespace

std::string command_text(std::string_view first,
                         const std::vector<std::string>& words,
                         std::string_view end) {
  std::string text(first);
  for (const std::string& word : words) {
    text += fmt::format(" \\\n  {}", word);
  }
  return fmt::format("{}{}\n", text, end);
}

std::string flag_words(const Flag& flag) {
  return flag.value.empty() ? flag.name
                            : fmt::format("{} {}", flag.name, core::shell_word(flag.value));
}

std::string variable_words(const std::vector<Variable>& variables) {
  std::string text;
  for (const Variable& variable : variables) {
    text += fmt::format("{}={} ", variable.name, core::shell_word(variable.value));
  }
  return text;
}

std::string device_list(std::int64_t first, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", first + i);
  }
  return text;
}

std::string script_head(const Layout& layout) {
  return fmt::format("#!/usr/bin/env bash\n{}set -euo pipefail\n", layout.header);
}

std::vector<std::vector<Word>> shell_commands(std::string_view text,
                                              const std::string& file,
                                              core::Errors& errors) {
  return Splitter(text, file, errors).run();
}

std::vector<ServerFound> servers_of_script(std::string_view text,
                                           const std::string& file,
                                           core::Errors& errors) {
  std::vector<ServerFound> servers;
  for (const std::vector<Word>& command : shell_commands(text, file, errors)) {
    auto server = server_of(command);
    if (!server || has_word(server->words, "--headless")) {
      continue;  // The latter is a part of a server on another node.
    }
    add_alike(servers, std::move(*server), errors);
  }
  if (servers.empty() && errors.empty()) {
    errors.push_back({.message = "found no command that starts a server",
                      .where = {.file = file},
                      .hint = "vllm serve NETWORK ..., or a scenario as .yaml or .json"});
  }
  return servers;
}

}  // namespace ridgeline::deploy
