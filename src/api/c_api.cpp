#include <algorithm>
#include <cstddef>
#include <cstring>
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
#include "api/c_handle.hpp"
#include "api/c_hooks.hpp"
#include "api/call.hpp"
#include "api/guard.hpp"
#include "api/tables.hpp"
#include "core/version.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "report/chart/figure.hpp"
#include "ridgeline.h"
#include "ridgeline/error.hpp"
#include "ridgeline/ridgeline.hpp"

namespace ridgeline::api {
namespace {

/// The artefact that is a picture; it has the verb's name.
constexpr std::string_view kPicture = "svg";

std::shared_ptr<const Table> table_of(const rl_result* result, const char* name) {
  return result == nullptr || name == nullptr || !result->answer.tables
             ? nullptr
             : result->answer.tables->find(name);
}

const std::vector<report::figures::Figure>& figures_of(rl_result& result) {
  const verbs::Reply& reply = result.answer.reply;
  if (!result.figures) {
    result.figures = reply.figures ? reply.figures() : std::vector<report::figures::Figure>();
  }
  return *result.figures;
}

std::string list_of_figures(rl_result& result) {
  std::vector<document::Node> items;
  const auto add = [&](std::string_view name, std::string_view title, std::string_view text) {
    items.push_back(document::MapBuilder()
                        .add("name", name)
                        .add("title", title)
                        .add("description", text)
                        .build());
  };
  for (const report::figures::Figure& figure : figures_of(result)) {
    add(figure.id, figure.title, figure.description);
  }
  if (result.answer.reply.artefacts.contains(kPicture)) {
    add(result.verb, "", "");
  }
  return document::json_text(document::list_node(std::move(items)));
}

std::optional<std::string> figure_of(rl_result& result, std::string_view name) {
  if (name.empty()) {
    return list_of_figures(result);
  }
  const auto& artefacts = result.answer.reply.artefacts;
  if (const auto picture = artefacts.find(kPicture);
      picture != artefacts.end() && name == result.verb) {
    return picture->second();
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
  static const std::string kText(ridgeline::core::version());
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
    result->verb = verb == nullptr ? "" : verb;
    result->answer = ridgeline::api::call(result->verb, document, heard, &known);
    code = result->answer.code;
    if (out != nullptr) {
      *out = result.release();
    }
  }));
  return code;
}

const char* rl_json(const rl_result* result, std::size_t* n) {
  if (n != nullptr) {
    *n = result == nullptr ? 0 : result->answer.json.size();
  }
  return result == nullptr ? "" : result->answer.json.c_str();
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
  return ridgeline::api::guarded([&] {
    ridgeline::api::export_stream(std::move(table), result->answer.reply.run->digest, *out);
  })
             ? 1
             : 0;
}

struct ArrowArrayStream* rl_arrow_new(const rl_result* result, const char* name) {
  auto stream = std::unique_ptr<ArrowArrayStream>(new (std::nothrow) ArrowArrayStream{});
  return stream && rl_arrow(result, name, stream.get()) == 0 ? stream.release() : nullptr;
}

void rl_arrow_capsule_free(void* capsule) {
  // The interpreter of the process that holds the capsule defines this function.
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
    return wanted == "json" ? std::optional(result->answer.json)
                            : result->answer.reply.text(wanted, {});
  });
}

void rl_free(rl_result* result) {
  delete result;
}

}  // extern "C"
