#include "deploy/launch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/marks.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {
namespace {

/// Programs that run the command behind their own options.
constexpr std::array<std::string_view, 31> kWrappers = {"nohup",
                                                        "exec",
                                                        "time",
                                                        "sudo",
                                                        "env",
                                                        "uv",
                                                        "numactl",
                                                        "taskset",
                                                        "srun",
                                                        "mpirun",
                                                        "mpiexec",
                                                        "nsys",
                                                        "timeout",
                                                        "stdbuf",
                                                        "setsid",
                                                        "command",
                                                        "python",
                                                        "python3",
                                                        "conda",
                                                        "poetry",
                                                        "docker",
                                                        "podman",
                                                        "nerdctl",
                                                        "kubectl",
                                                        "bash",
                                                        "sh",
                                                        "singularity",
                                                        "apptainer",
                                                        "trtllm-llmapi-launch",
                                                        "ssh",
                                                        "enroot"};

/// Options of `docker run` that take a word.
constexpr std::array<std::string_view, 37> kDockerValues = {
    "-v",          "-p",           "-e",         "-w",
    "-u",          "-h",           "-l",         "-m",
    "--name",      "--gpus",       "--shm-size", "--ipc",
    "--network",   "--net",        "--device",   "--env-file",
    "--ulimit",    "--runtime",    "--cap-add",  "--security-opt",
    "--group-add", "--entrypoint", "--restart",  "--hostname",
    "--add-host",  "--mount",      "--platform", "--cpuset-cpus",
    "--pull",      "--log-opt",    "--env",      "--volume",
    "--publish",   "--workdir",    "--user",     "--label",
    "--memory"};

struct Module {
  std::string_view name;
  std::string_view engine;
};
constexpr std::array<Module, 7> kModules = {{{"vllm.entrypoints.openai.api_server", "vllm"},
                                             {"vllm.entrypoints.api_server", "vllm"},
                                             {"sglang.launch_server", "sglang"},
                                             {"sglang.srt.entrypoints.http_server", "sglang"},
                                             {"dynamo.vllm", "vllm"},
                                             {"dynamo.sglang", "sglang"},
                                             {"dynamo.trtllm", "tensorrt-llm"}}};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

std::string_view base_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::ranges::all_of(word.substr(0, equals),
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// The value of "NAME=VALUE" in a list, the last one.
std::optional<std::string> value_in(const std::vector<Word>& variables, std::string_view name) {
  std::optional<std::string> value;
  for (const Word& word : variables) {
    if (word.text.starts_with(name) && word.text.substr(name.size()).starts_with('=')) {
      value = word.text.substr(name.size() + 1);
    }
  }
  return value;
}

/// GPUs of "0,1,2"; nothing where the list is not one.
std::optional<std::int64_t> gpus_of_list(std::string_view list) {
  const bool is_list = !list.empty() && std::ranges::all_of(list, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == ',' || c == '-';
  });
  return is_list ? std::optional(1 + std::ranges::count(list, ',')) : std::nullopt;
}

class Finder {
 public:
  Finder(Script& script, core::Errors& errors) : script_(script), errors_(errors) {}

  std::vector<ServerFound> run() {
    // By index: nested scripts add to what is read.
    for (std::size_t i = 0; i < script_.commands.size(); ++i) {
      const ScriptCommand command = script_.commands[i];
      find(command.words, command, command.variables, std::nullopt);
    }
    return std::move(servers_);
  }

  std::vector<ServerFound> run(const Container& container) {
    given_ = container.given;
    find(container, {});
    return std::move(servers_);
  }

 private:
  using Words = std::span<const Word>;

  /// Finds the server that the words start, if they do. `image`: the container's.
  void find(Words words,
            const ScriptCommand& command,
            std::vector<Word> variables,
            const std::optional<Word>& image) {
    if (words.empty() || ++depth_ > 8) {
      return;
    }
    // "$WRAPPER vllm serve": what has no value may be one.
    const bool is_wrapped = holds(kWrappers, base_of(words[0].text)) ||
                            is_assignment(words[0].text) || is_unknown(words[0].text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0 && !is_wrapped) {
        break;
      }
      if (i > 0 && is_assignment(words[i].text)) {
        variables.push_back(words[i]);
      }
      if (start(words.subspan(i), command, variables, image)) {
        break;
      }
    }
    --depth_;
  }

  /// Whether the words begin with a server's command, which is noted then.
  bool start(Words words,
             const ScriptCommand& command,
             const std::vector<Word>& variables,
             const std::optional<Word>& image) {
    const std::string_view program = base_of(words[0].text);
    const std::string_view next = words.size() > 1 ? std::string_view(words[1].text) : "";
    if ((program == "vllm" || program == "sglang") && next == "serve") {
      return put(program, words.subspan(2), words[0], command, variables, image);
    }
    if (program == "trtllm-serve") {
      if (next == "disaggregated") {
        errors_.push_back(
            {.field = "trtllm-serve disaggregated",
             .message = "reads a file of servers' addresses, which says nothing of them",
             .where = words[1].where});
        return true;
      }
      return put("tensorrt-llm",
                 words.subspan(next == "serve" ? 2 : 1),
                 words[0],
                 command,
                 variables,
                 image);
    }
    if (program == "-m") {
      const auto* const module = std::ranges::find(kModules, next, &Module::name);
      return module != kModules.end() &&
             put(module->engine, words.subspan(2), words[0], command, variables, image);
    }
    if (program == "api_server.py") {
      return put("vllm", words.subspan(1), words[0], command, variables, image);
    }
    const bool is_shell = program == "bash" || program == "sh";
    if (is_shell && next.starts_with('-') && next.ends_with('c') && words.size() > 2) {
      nest(words[2], command, variables);
      return true;
    }
    if ((program == "docker" || program == "podman" || program == "nerdctl") && next == "run") {
      find_in_container(words.subspan(2), command, variables);
      return true;
    }
    return false;
  }

  /// A script in one word.
  void nest(const Word& text, const ScriptCommand& command, const std::vector<Word>& variables) {
    Values given = given_;
    for (const Word& word : variables) {
      const std::size_t equals = word.text.find('=');
      given.emplace_back(word.text.substr(0, equals), word.text.substr(equals + 1));
    }
    Script inner = read_script(text.text, text.where, given, errors_, true);
    for (ScriptCommand& each : inner.commands) {
      if (each.condition.empty()) {
        each.condition = command.condition;
      }
      each.loop_line = std::max(each.loop_line, command.loop_line);
      find(each.words, each, each.variables, image_);
    }
    script_.files.merge(inner.files);
    script_.reasons.merge(inner.reasons);
    script_.warnings.insert(script_.warnings.end(), inner.warnings.begin(), inner.warnings.end());
  }

  void find_in_container(Words words,
                         const ScriptCommand& command,
                         const std::vector<Word>& outer) {
    std::vector<Word> variables;
    std::vector<Word> inner;
    std::string gpus;
    std::size_t i = 0;
    for (; i < words.size() && words[i].text.starts_with('-'); ++i) {
      const std::size_t equals = words[i].text.find('=');
      const std::string name = words[i].text.substr(0, equals);
      const bool has_value = words[i].text.starts_with("--") && equals != std::string::npos;
      Word value{.text = has_value ? words[i].text.substr(equals + 1) : "",
                 .where = words[i].where};
      if (!has_value && holds(kDockerValues, name) && i + 1 < words.size()) {
        value = words[++i];
      }
      if (name == "-e" || name == "--env") {
        const bool is_set = value.text.find('=') != std::string::npos;
        const auto callers = is_set ? std::nullopt : value_in(outer, value.text);
        if (is_set) {
          variables.push_back(value);
        } else if (callers) {
          variables.push_back({.text = value.text + "=" + *callers, .where = value.where});
        }
      } else if (name == "--gpus") {
        gpus = value.text;
      } else if (name == "--entrypoint" && !value.text.empty()) {
        inner.push_back(value);
      }
    }
    if (i >= words.size()) {
      return;
    }
    const bool has_entry = !inner.empty();
    Container container{.image = words[i],
                        .words = std::move(inner),
                        .variables = std::move(variables),
                        .has_entrypoint = has_entry};
    container.words.insert(
        container.words.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
    std::erase(gpus, '"');
    container.gpus = gpus.starts_with("device=") ? gpus_of_list(std::string_view(gpus).substr(7))
                                                 : read_count(gpus);
    find(container, command);
  }

  void find(const Container& container, const ScriptCommand& command) {
    image_ = container.image;
    gpus_ = container.gpus;
    const std::size_t before = servers_.size();
    const std::vector<Word>& words = container.words;
    find(words, command, container.variables, container.image);
    const std::string& image = container.image.text;
    const bool has_flags = !words.empty() && words.front().text.starts_with("--");
    const bool is_server = image.find("vllm-openai") != std::string::npos ||
                           (image.find("vllm") != std::string::npos && has_flags);
    if (servers_.size() == before && !container.has_entrypoint && is_server && !words.empty()) {
      put("vllm", words, container.image, command, container.variables, container.image);
    }
    image_.reset();
    gpus_.reset();
  }

  bool put(std::string_view engine,
           Words words,
           const Word& at,
           const ScriptCommand& command,
           const std::vector<Word>& variables,
           const std::optional<Word>& image) {
    if (std::ranges::find(words, "--help", &Word::text) != words.end()) {
      return true;
    }
    ServerFound server{.role = "serve",
                       .engine = std::string(engine),
                       .words = {words.begin(), words.end()},
                       .variables = variables,
                       .image = image,
                       .gpus = gpus_,
                       .place = {},
                       .condition = command.condition,
                       .loop_line = command.loop_line};
    for (const std::string_view name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
      if (const auto devices = value_in(variables, name)) {
        server.gpus = gpus_of_list(*devices);
        server.place += *devices + " ";
      }
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_port =
          words[i].text.starts_with("--port") || words[i].text.starts_with("--node-rank");
      server.place +=
          is_port ? words[i].text + (i + 1 < words.size() ? words[i + 1].text : "") : "";
    }
    server.network.where = at.where;
    servers_.push_back(std::move(server));
    return true;
  }

  Script& script_;
  core::Errors& errors_;
  std::vector<ServerFound> servers_;
  std::optional<Word> image_;         ///< The one of the container that is read.
  std::optional<std::int64_t> gpus_;  ///< Those of that container.
  Values given_;
  int depth_ = 0;
};

}  // namespace

std::vector<ServerFound> servers_of_script(Script& script, core::Errors& errors) {
  return Finder(script, errors).run();
}

std::vector<ServerFound> servers_of_container(const Container& container,
                                              Script& script,
                                              core::Errors& errors) {
  return Finder(script, errors).run(container);
}

}  // namespace ridgeline::deploy
