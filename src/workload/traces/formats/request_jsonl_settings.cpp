// The first line of our own format, where it is one of settings.
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "workload/item.hpp"
#include "workload/limits.hpp"
#include "workload/traces/formats/request_jsonl.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {
namespace {

bool read_jsonl_stages(JsonCursor& json, std::vector<Stage>& stages) {
  bool sound = true;
  for (json.enter('[', "stages"); json.next_item();) {
    Stage stage;
    std::string_view key;
    for (json.enter('{', "stages"); json.next_key(key);) {
      if (key == "max_concurrency") {
        sound = json.integer(key, 0, kMaxRequests, stage.max_concurrency) && sound;
      } else if (key == "think_s") {
        sound = json.time(key, kSecondsUnit, stage.think) && sound;
      } else if (key == "after_previous") {
        sound = json.boolean(key, stage.after_previous) && sound;
      } else if (key == "pause_s") {
        sound = json.time(key, kSecondsUnit, stage.pause) && sound;
      } else {
        return json.fail(key, "max_concurrency, think_s, after_previous, pause_s");
      }
    }
    stages.push_back(stage);
  }
  return json.sound() && sound;
}

bool read_jsonl_answers(JsonCursor& json, bool& absolute) {
  std::string_view text;
  if (!json.string("answers", text)) {
    return false;
  }
  absolute = text == "absolute";
  return absolute || text == "group" || json.fail("answers", "\"absolute\" or \"group\"");
}

}  // namespace

bool read_jsonl_settings(const TraceLine& line, JsonlSettings& settings) {
  JsonCursor json(line);
  bool sound = true;
  std::string_view key;
  std::int64_t version = 0;
  for (json.enter('{'); json.next_key(key);) {
    if (key == kJsonlHeaderKey) {
      sound = json.integer(key, 1, 1, version) && sound;
    } else if (key == "groups") {
      sound = json.boolean(key, settings.groups) && sound;
    } else if (key == "waits") {
      sound = json.boolean(key, settings.waits) && sound;
    } else if (key == "block_tokens") {
      sound = json.tokens(key, settings.block_tokens, 0) && sound;
    } else if (key == "answers") {
      sound = read_jsonl_answers(json, settings.answers_are_absolute) && sound;
    } else if (key == "stages") {
      settings.stages.clear();
      sound = read_jsonl_stages(json, settings.stages) && sound;
    } else {
      json.line().problem("",
                          key,
                          fmt::format("the unknown name {}", core::quote(key)),
                          "ridgeline_workload, groups, waits, answers, block_tokens, stages");
      sound = json.skip() && false;
    }
  }
  if (settings.answers_are_absolute && (settings.groups || settings.waits)) {
    line.problem("answers", line.text(), "\"absolute\" beside groups", "requests without groups");
    sound = false;
  }
  if (settings.stages.empty()) {
    line.problem("stages", line.text(), "no stage", "at least one");
    sound = false;
  }
  return json.at_end() && sound;
}

}  // namespace ridgeline::workload
