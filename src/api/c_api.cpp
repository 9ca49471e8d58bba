#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "api/arrow.hpp"
#include "api/call.hpp"
#include "api/clock.hpp"
#include "api/guard.hpp"
#include "api/tables.hpp"
#include "document/document.hpp"
#include "report/figures/figure.hpp"
#include "report/result_json.hpp"
#include "report/tree.hpp"
#include "report/version.hpp"
#include "ridgeline.h"
#include "ridgeline/error.hpp"
#include "ridgeline/ridgeline.hpp"

/// What C holds by its address alone. What is asked for later is made once and kept.
struct rl_result {
  ridgeline::api::Reply reply;
  std::mutex mutex;
  std::optional<std::vector<ridgeline::report::figures::Figure>> figures;
  std::map<std::string, std::string> texts;
};

namespace ridgeline::api {
namespace {

constexpr double kBetweenPolls = 0.02;  // seconds

/// The fields that the caller's header had, each whole; those behind are 0.
rl_hooks known_fields(const rl_hooks* given) {
  rl_hooks hooks = {};
  if (given == nullptr) {
    return hooks;
  }
  const std::array<std::size_t, 11> ends = {
      offsetof(rl_hooks, user) + sizeof(hooks.user),
      offsetof(rl_hooks, interrupt) + sizeof(hooks.interrupt),
      offsetof(rl_hooks, progress) + sizeof(hooks.progress),
      offsetof(rl_hooks, poll) + sizeof(hooks.poll),
      // NOLINTNEXTLINE(bugprone-sizeof-expression): the field is a pointer
      offsetof(rl_hooks, python) + sizeof(hooks.python),
      offsetof(rl_hooks, route) + sizeof(hooks.route),
      offsetof(rl_hooks, router_reads_cache) + sizeof(hooks.router_reads_cache),
      offsetof(rl_hooks, model_reads_lengths) + sizeof(hooks.model_reads_lengths),
      offsetof(rl_hooks, predict) + sizeof(hooks.predict),
      offsetof(rl_hooks, affine) + sizeof(hooks.affine),
      offsetof(rl_hooks, scale) + sizeof(hooks.scale)};
  std::size_t known = 0;
  for (const std::size_t end : ends) {
    known = given->size >= end ? end : known;
  }
  if (known > 0) {
    std::memcpy(&hooks, given, known);
  }
  return hooks;
}

/// Whether a signal handler of Python has raised something, which is left to the caller.
bool has_raised(rl_python& python) {
  if (python.raised[1] != nullptr || python.raised[0] != nullptr) {
    return true;
  }
  const int state = python.PyGILState_Ensure();
  const bool raised = python.PyErr_CheckSignals() != 0;
  if (raised) {
    python.PyErr_Fetch(&python.raised[0], &python.raised[1], &python.raised[2]);
  }
  python.PyGILState_Release(state);
  return raised;
}

/// Asks the host's functions so often that it is heard and not so often that it costs.
class Poll {
 public:
  explicit Poll(const rl_hooks& hooks) : hooks_(hooks) {}

  bool operator()() {
    return polls_.now() && ((hooks_.poll != nullptr && hooks_.poll(hooks_.user) != 0) ||
                            (hooks_.python != nullptr && has_raised(*hooks_.python)));
  }

 private:
  const rl_hooks& hooks_;
  AtMostEvery polls_{kBetweenPolls};
};

Hooks hooks_of(const rl_hooks& given) {
  Hooks hooks;
  const bool polls = given.poll != nullptr || given.python != nullptr;
  if (given.interrupt != nullptr || polls) {
    hooks.interrupted = [flag = given.interrupt, polls, poll = Poll(given)]() mutable {
      return (flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0) || (polls && poll());
    };
  }
  if (given.progress != nullptr) {
    hooks.progress = [&given](const Progress& progress) {
      const rl_progress shown = {.size = sizeof(rl_progress),
                                 .simulated_s = progress.simulated_s,
                                 .done = progress.done,
                                 .total = progress.total.value_or(-1)};
      given.progress(given.user, &shown);
    };
  }
  return hooks;
}

std::shared_ptr<const Table> table_of(const rl_result* result, const char* name) {
  return result == nullptr || name == nullptr || !result->reply.tables
             ? nullptr
             : result->reply.tables->find(name);
}

const std::vector<report::figures::Figure>& figures_of(rl_result& result) {
  if (!result.figures) {
    result.figures =
        result.reply.figures ? result.reply.figures() : std::vector<report::figures::Figure>();
  }
  return *result.figures;
}

std::string list_of_figures(rl_result& result) {
  std::vector<document::Node> items;
  const auto add = [&](std::string_view name, std::string_view title, std::string_view text) {
    items.push_back(report::MapBuilder()
                        .add("name", report::text_node(name))
                        .add("title", report::text_node(title))
                        .add("description", report::text_node(text))
                        .build());
  };
  for (const report::figures::Figure& figure : figures_of(result)) {
    add(figure.id, figure.title, figure.description);
  }
  if (result.reply.picture) {
    add(result.reply.picture_name, "", "");
  }
  return report::json_text(report::list_node(std::move(items)));
}

std::optional<std::string> figure_of(rl_result& result, std::string_view name) {
  if (name.empty()) {
    return list_of_figures(result);
  }
  if (result.reply.picture && name == result.reply.picture_name) {
    return result.reply.picture();
  }
  for (const report::figures::Figure& figure : figures_of(result)) {
    if (figure.id == name) {
      return report::figures::standalone_svg(figure);
    }
  }
  return std::nullopt;
}

/// A text that is made at the first call for it; null where there is none, or it cannot be made.
template <class Make>
const char* kept_text(rl_result* result, const std::string& key, std::size_t* n, const Make& make) {
  const std::string* text = nullptr;
  if (result != nullptr) {
    static_cast<void>(guarded([&] {
      const std::lock_guard lock(result->mutex);
      auto found = result->texts.find(key);
      if (found == result->texts.end()) {
        std::optional<std::string> made = make();
        if (!made) {
          return;
        }
        found = result->texts.emplace(key, std::move(*made)).first;
      }
      text = &found->second;
    }));
  }
  if (n != nullptr) {
    *n = text == nullptr ? 0 : text->size();
  }
  return text == nullptr ? nullptr : text->c_str();
}

}  // namespace
}  // namespace ridgeline::api

extern "C" {

int rl_abi(void) {
  return RL_ABI;
}

const char* rl_version(void) {
  static const std::string kText(ridgeline::report::version());
  return kText.c_str();
}

int rl_call(
    const char* verb, const char* json, std::size_t n, const rl_hooks* hooks, rl_result** out) {
  int code = static_cast<int>(ridgeline::ErrorCode::kInternal);
  if (out != nullptr) {
    *out = nullptr;
  }
  // What is left to go wrong here is memory: then there is no result.
  static_cast<void>(ridgeline::api::guarded([&] {
    const std::string_view document =
        json == nullptr ? std::string_view() : std::string_view(json, n);
    const rl_hooks known = ridgeline::api::known_fields(hooks);
    const ridgeline::Hooks heard = ridgeline::api::hooks_of(known);
    auto result = std::make_unique<rl_result>();
    result->reply = ridgeline::api::call(
        verb == nullptr ? "" : verb, document, {.hooks = heard, .policies = &known});
    code = result->reply.code;
    if (out != nullptr) {
      *out = result.release();
    }
  }));
  return code;
}

const char* rl_json(const rl_result* result, std::size_t* n) {
  if (n != nullptr) {
    *n = result == nullptr ? 0 : result->reply.json.size();
  }
  return result == nullptr ? "" : result->reply.json.c_str();
}

int rl_table(const rl_result* result, const char* name, rl_columns* out) {
  const auto table = ridgeline::api::table_of(result, name);
  if (out == nullptr || table == nullptr) {
    return 1;
  }
  int code = 1;
  static_cast<void>(ridgeline::api::guarded([&] {
    const std::vector<rl_column>& columns = table->columns();
    const rl_columns whole = {.size = sizeof(rl_columns),
                              .rows = table->rows(),
                              .num_columns = columns.size(),
                              .column_size = sizeof(rl_column),
                              .columns = columns.data()};
    std::memcpy(out, &whole, std::min(out->size, sizeof(whole)));
    code = 0;
  }));
  return code;
}

int rl_arrow(const rl_result* result, const char* name, struct ArrowArrayStream* out) {
  auto table = ridgeline::api::table_of(result, name);
  if (out == nullptr || table == nullptr) {
    return 1;
  }
  return ridgeline::api::guarded(
             [&] { ridgeline::api::export_stream(std::move(table), result->reply.digest, *out); })
             ? 1
             : 0;
}

struct ArrowArrayStream* rl_arrow_new(const rl_result* result, const char* name) {
  auto stream = std::unique_ptr<ArrowArrayStream>(new (std::nothrow) ArrowArrayStream{});
  return stream && rl_arrow(result, name, stream.get()) == 0 ? stream.release() : nullptr;
}

void rl_arrow_capsule_free(void* capsule) {
  // Of the process that holds the capsule, and so the interpreter.
  using GetPointer = void* (*)(void*, const char*);
  static const auto kGetPointer =
      reinterpret_cast<GetPointer>(dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer"));
  if (kGetPointer == nullptr) {
    return;
  }
  auto* const stream = static_cast<ArrowArrayStream*>(kGetPointer(capsule, "arrow_array_stream"));
  if (stream != nullptr && stream->release != nullptr) {
    stream->release(stream);
  }
  delete stream;
}

const char* rl_figure(rl_result* result, const char* name, std::size_t* n) {
  const std::string_view wanted = name == nullptr ? "" : name;
  return ridgeline::api::kept_text(result, "figure " + std::string(wanted), n, [&] {
    return ridgeline::api::figure_of(*result, wanted);
  });
}

const char* rl_report(rl_result* result, const char* format, std::size_t* n) {
  const std::string_view wanted = format == nullptr ? "" : format;
  return ridgeline::api::kept_text(result, "report " + std::string(wanted), n, [&] {
    return result->reply.report ? result->reply.report(wanted) : std::nullopt;
  });
}

void rl_free(rl_result* result) {
  delete result;
}

}  // extern "C"
