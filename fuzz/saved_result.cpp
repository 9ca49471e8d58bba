// A saved result in which any bytes choose what is damaged: members and items that are left out or
// replaced, anywhere. It is refused with a reason, or every page of it can be drawn.
#include "report/saved_result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "core/check.hpp"
#include "document/document.hpp"
#include "report/comparison_page.hpp"
#include "report/html_report.hpp"
#include "ridgeline.h"

namespace {

using namespace ridgeline;  // NOLINT(google-build-using-namespace): a program of its own
using document::Node;

constexpr std::string_view kRun =
    R"({"model": "llama-3.1-8b", "gpu": "h100", "seed": 1, "keep": ["series"],
        "slo": {"ttft": "20ms", "tpot": "10ms"},
        "workload": {"request_rate": 50, "num_prompts": 20, "input_len": 200, "output_len": 20}})";
/// Changes of one result.
constexpr std::int64_t kMostChanges = 6;

const Node& sound_result() {
  static const Node kResult = [] {
    rl_result* result = nullptr;
    const int code = rl_call("run", kRun.data(), kRun.size(), nullptr, &result);
    RIDGELINE_CHECK(code == 0, "the run that is damaged has a result");
    std::size_t size = 0;
    const char* const text = rl_json(result, &size);
    auto tree = document::parse_json(std::string_view(text, size), "run");
    RIDGELINE_CHECK(tree.has_value(), "a result is JSON");
    rl_free(result);
    return *std::move(tree);
  }();
  return kResult;
}

Node replacement(fuzz::Choices& choices) {
  switch (choices.below(12)) {
    case 0:
      return Node::null({});
    case 1:
      return Node::boolean(choices.coin(), {});
    case 2:
      return Node::integer(INT64_MAX, {});
    case 3:
      return Node::integer(INT64_MIN, {});
    case 4:
      return Node::real(1e308, {});
    case 5:
      return Node::real(1e-308, {});
    case 6:
      return Node::string("<img onerror=alert(1)>", {});
    case 7:
      return Node::list({}, {});
    case 8:
      return Node::map({}, {});
    case 9:
      return Node::list({Node::integer(choices.below(256), {})}, {});
    default:
      return Node::integer(choices.below(256), {});
  }
}

/// The value with one change somewhere below it.
Node changed(const Node& value, fuzz::Choices& choices) {
  const bool has_parts =
      (value.is_map() && !value.members().empty()) || (value.is_list() && !value.items().empty());
  if (!has_parts || choices.one_in(16)) {
    return replacement(choices);
  }
  // Bytes name one of 256: the first items of a long list.
  const auto place = [&](std::size_t parts) {
    return static_cast<std::size_t>(
        choices.below(static_cast<std::int64_t>(parts < 256 ? parts : 256)));
  };
  if (value.is_map()) {
    std::vector<Node::Member> members = value.members();
    const auto at = static_cast<std::ptrdiff_t>(place(members.size()));
    if (choices.one_in(8)) {
      members.erase(members.begin() + at);
    } else {
      Node::Member& member = members[static_cast<std::size_t>(at)];
      member.value = changed(member.value, choices);
    }
    return Node::map(std::move(members), {});
  }
  std::vector<Node> items = value.items();
  const auto at = static_cast<std::ptrdiff_t>(place(items.size()));
  if (choices.one_in(8)) {
    items.erase(items.begin() + at);
  } else {
    items[static_cast<std::size_t>(at)] = changed(items[static_cast<std::size_t>(at)], choices);
  }
  return Node::list(std::move(items), {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  Node damaged = sound_result();
  for (std::int64_t left = 1 + choices.below(kMostChanges); left > 0; --left) {
    damaged = changed(damaged, choices);
  }
  auto result = report::checked_result(std::move(damaged), "run.json");
  if (!result) {
    RIDGELINE_CHECK(!result.error().front().message.empty(), "a refusal without a reason");
    return 0;
  }
  const std::string page = report::html_report(*result, report::words_of(*result, "run.json"));
  RIDGELINE_CHECK(page.find("<img onerror") == std::string::npos, "text of a result is markup");
  const std::string both = report::comparison_page(
      {{.name = "sound", .result = sound_result()}, {.name = "damaged", .result = *result}});
  RIDGELINE_CHECK(both.find("<img onerror") == std::string::npos, "text of a result is markup");
  return 0;
}
