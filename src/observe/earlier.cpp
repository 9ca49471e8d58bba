#include "observe/earlier.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "domain/request.hpp"
#include "observe/prompts.hpp"
#include "workload/source.hpp"

namespace ridgeline::observe {
namespace {

constexpr std::int64_t kRequestsOfDigest = 10'000;
/// A record that is longer is of another program.
constexpr std::size_t kMostRecordBytes = std::size_t{1} << 30;

/// Every request of a workload, as they come when each is answered as soon as it is sent.
template <class Take>
void for_each_request(workload::Source& source, std::int64_t most, Take take) {
  for (std::int64_t i = 0; i < most; ++i) {
    const auto arrival = source.next_arrival();
    if (!arrival) {
      return;
    }
    const domain::Request request = source.pop();
    take(request);
    if (source.is_closed_loop()) {
      source.on_completion(request.id, request.arrival);
    }
  }
}

std::string text_at(const document::Node& node, std::string_view key) {
  const document::Node* found = node.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

std::int64_t integer_at(const document::Node& node, std::string_view key) {
  const document::Node* found = node.find(key);
  return found != nullptr && found->kind() == document::Node::Kind::kInteger ? found->as_integer()
                                                                             : 0;
}

void read_head(const document::Node& head, Earlier& earlier) {
  earlier.workload_digest = text_at(head, "workload_digest");
  earlier.target = text_at(head, "target");
  earlier.model = text_at(head, "model");
  const document::Node* prompts = head.find("prompts");
  if (prompts == nullptr) {
    return;
  }
  earlier.endpoint = text_at(*prompts, "endpoint") == path_of(Endpoint::kChat)
                         ? Endpoint::kChat
                         : Endpoint::kCompletions;
  earlier.form = text_at(*prompts, "form") == "tokens" ? PromptForm::kTokens : PromptForm::kWords;
  earlier.overhead = {.first = integer_at(*prompts, "overhead"),
                      .each_message = integer_at(*prompts, "overhead_each_message")};
  earlier.salt = static_cast<std::uint64_t>(integer_at(*prompts, "salt"));
  earlier.natural_output = text_at(*prompts, "output") == "natural";
}

double number_in(const document::Node& node, std::string_view key) {
  const document::Node* found = node.find(key);
  return found != nullptr && found->is_number() ? found->as_real() : 0.0;
}

void read_row(const document::Node& row, Earlier& earlier) {
  constexpr double kMsPerSecond = 1e3;
  const auto end = core::Duration::from_seconds(number_in(row, "send_s") +
                                                number_in(row, "end_ms") / kMsPerSecond);
  earlier.end = std::max(earlier.end, core::SimTime::at(end.value_or(core::Duration())));
  earlier.last_stage =
      std::max(earlier.last_stage, static_cast<std::int32_t>(integer_at(row, "stage")));
  if (!text_at(row, "error").empty()) {
    return;
  }
  if (row.find("session") != nullptr) {
    earlier.answered_turns[static_cast<std::uint64_t>(integer_at(row, "session"))].insert(
        static_cast<std::int32_t>(integer_at(row, "turn")));
  } else {
    earlier.answered.insert(static_cast<std::uint64_t>(integer_at(row, "id")));
  }
}

}  // namespace

std::string workload_digest(workload::Source& source) {
  core::Digest digest;
  for_each_request(source, kRequestsOfDigest, [&](const domain::Request& request) {
    digest.add(request.id.value());
    digest.add(request.arrival.count());
    digest.add(request.prompt_tokens.value());
    digest.add(request.output_tokens.value());
    digest.add(request.session.valid() ? request.session.value() : ~std::uint64_t{0});
    for (const auto& segment : request.prompt) {
      digest.add(segment.content);
      digest.add(segment.length.value());
    }
  });
  return digest.hex();
}

void Earlier::forget_unfinished_sessions(workload::Source& source) {
  constexpr std::int64_t kMostRequests = 10'000'000;
  std::map<std::uint64_t, std::size_t> turns;
  for_each_request(source, kMostRequests, [&](const domain::Request& request) {
    if (request.session.valid()) {
      ++turns[request.session.value()];
    }
  });
  std::erase_if(answered_turns,
                [&](const auto& session) { return session.second.size() < turns[session.first]; });
}

bool Earlier::has(const domain::Request& request) const {
  return request.session.valid() ? answered_turns.contains(request.session.value())
                                 : answered.contains(request.id.value());
}

core::Result<Earlier> read_earlier(const std::string& path) {
  const auto text = document::read_file(path, kMostRecordBytes);
  if (!text) {
    return core::fail(text.error());
  }
  Earlier earlier;
  bool has_head = false;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      break;  // Cut short as it was written.
    }
    const auto node = document::parse_json(rest.substr(0, end), path);
    rest.remove_prefix(end + 1);
    earlier.whole_bytes = text->size() - rest.size();
    if (node && node->find("ridgeline_observed") != nullptr) {
      has_head = true;
      read_head(*node, earlier);
    } else if (node && has_head && node->find("id") != nullptr) {
      read_row(*node, earlier);
    }
    if (!has_head) {
      break;
    }
  }
  if (!has_head) {
    return core::fail(core::Error{
        .message = "found another file, expected the record of a measurement (a first line with "
                   "\"ridgeline_observed\")",
        .where = {.file = path}});
  }
  return earlier;
}

}  // namespace ridgeline::observe
