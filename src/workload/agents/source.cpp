#include "workload/agents/source.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/prompt_tree.hpp"
#include "workload/agents/replay.hpp"
#include "workload/agents/trace.hpp"
#include "workload/item.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::workload::agents {
namespace {

constexpr std::uint64_t kMarkerSpace = 0x6D61726B;  // "mark"
constexpr std::uint64_t kRunSpace = 0x77656B61;     // "weka"
/// A trace is a line: the largest of those published holds some thousand long prompts.
constexpr LineLimits kLimits = {.line_bytes = kMaxWholeBytes};

class TreeReader {
 public:
  explicit TreeReader(const Selection& selection) : selection_(selection) {}

  [[nodiscard]] bool wants_more() const {
    return errors.size() < kMaxTraceProblems &&
           static_cast<std::int64_t>(trees.size()) < selection_.num_dataset_entries;
  }
  void take(std::string_view text, const std::string& file, std::int64_t number) {
    const TraceLine line(text, file, number, errors);
    if (!line.is_text()) {
      return;
    }
    const auto trace = read_trace(line);
    if (!trace || !selection_.takes(*trace)) {
      left_out += trace ? 1 : 0;
      return;
    }
    auto tree = conversations_of(*trace);
    if (tree) {
      trees.push_back(std::move(*tree));
      return;
    }
    for (core::Error& error : tree.error()) {
      error.where = {.file = file, .line = static_cast<int>(number)};
      errors.push_back(std::move(error));
    }
  }
  void file(const std::string& path) {
    auto input = open_input(path);
    if (!input) {
      errors.insert(errors.end(), input.error().begin(), input.error().end());
      return;
    }
    LineReader lines(std::move(*input), kLimits);
    if (TraceHead(lines.head()).begins_document()) {
      const auto text = lines.rest(path);
      if (text) {
        take(*text, path, 1);
      } else {
        errors.insert(errors.end(), text.error().begin(), text.error().end());
      }
      return;
    }
    std::string_view line;
    LineReader::Status status = LineReader::Status::kLine;
    while (wants_more() && (status = lines.next(line)) == LineReader::Status::kLine) {
      if (!line.empty()) {
        take(line, path, lines.number());
      }
    }
    if (status == LineReader::Status::kTooLong || status == LineReader::Status::kReadError) {
      errors.push_back(
          {.message = status == LineReader::Status::kTooLong
                          ? fmt::format("found a line longer than {} bytes, expected a trace",
                                        lines.line_bytes())
                          : std::string(lines.input_problem()),
           .where = {.file = path, .line = static_cast<int>(lines.number())}});
    }
  }

  std::vector<SessionTree> trees;
  core::Errors errors;
  std::int64_t left_out = 0;

 private:
  Selection selection_;
};

}  // namespace

core::Result<std::vector<SessionTree>> read_trees(const std::string& path,
                                                  const Selection& selection) {
  TreeReader reader(selection);
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path, failure)) {
      if (entry.path().extension() == ".json") {
        files.push_back(entry.path().string());
      }
    }
    std::ranges::sort(files);
    for (std::size_t i = 0; i < files.size() && reader.wants_more(); ++i) {
      reader.file(files[i]);
    }
  } else {
    reader.file(path);
  }
  if (reader.errors.empty() && reader.trees.empty()) {
    reader.errors.push_back(
        {.message = reader.left_out > 0
                        ? fmt::format("holds {} traces, none of which fits max_context_length",
                                      reader.left_out)
                        : "holds no agent trace, expected one at least",
         .where = {.file = path}});
  }
  if (!reader.errors.empty()) {
    return core::fail(std::move(reader.errors));
  }
  return std::move(reader.trees);
}

AgentSource::AgentSource(std::vector<SessionTree> trees, const ReplayOptions& options)
    : trees_(std::move(trees)), replay_(trees_, options) {}

std::optional<core::SimTime> AgentSource::next_arrival() {
  if (!next_) {
    next_ = replay_.next_time();
    if (replay_.is_profiling()) {
      measured_from_ = replay_.profiling().start;
    }
  }
  return *next_;
}

/// The blocks of a prompt, with the marker in front of what the user says.
std::vector<domain::Segment> AgentSource::parts_of(const Sent& sent) const {
  const SessionTree& tree = trees_[static_cast<std::size_t>(sent.tree)];
  const auto& conversation = tree.conversations[static_cast<std::size_t>(sent.turn.conversation)];
  const domain::Segment marker{.content = content_of(kMarkerSpace, sent.play),
                               .length = core::Tokens(kMarkerTokens)};
  const std::uint64_t space = content_of(kRunSpace, static_cast<std::uint64_t>(sent.tree));
  std::vector<domain::Segment> parts;
  std::int64_t before_marker = conversation.prefix_blocks;
  if (before_marker == 0) {
    parts.push_back(marker);
  }
  for (const PromptEnd& run : tree.prompts.path(turn_of(sent).prompt)) {
    const std::uint64_t content = content_of(space, static_cast<std::uint64_t>(run.run));
    std::int64_t blocks = run.blocks;
    std::uint64_t rest = content;
    if (before_marker > 0) {
      const std::int64_t own = std::min(before_marker, blocks);
      parts.push_back({.content = content, .length = core::Tokens(own * tree.block_size)});
      before_marker -= own;
      blocks -= own;
      // What is left of the run is another text: it begins somewhere else.
      rest = content_of(content, static_cast<std::uint64_t>(own));
      if (before_marker == 0) {
        parts.push_back(marker);
      }
    }
    if (blocks > 0) {
      parts.push_back({.content = rest, .length = core::Tokens(blocks * tree.block_size)});
    }
  }
  if (before_marker > 0) {
    parts.push_back(marker);
  }
  return parts;
}

domain::Prompt AgentSource::prompt_of(const Sent& sent) {
  std::vector<domain::Segment> parts = parts_of(sent);
  Talk& talk = talks_[sent.session];
  const auto [left, right] = std::ranges::mismatch(talk.parts, parts);
  if (talk.history == nullptr || left != talk.parts.end()) {
    talk.history = std::make_shared<domain::History>();
    talk.parts.clear();
  }
  for (std::size_t i = talk.parts.size(); i < parts.size(); ++i) {
    talk.history->append(parts[i]);
  }
  talk.parts = std::move(parts);
  domain::Prompt prompt(talk.history, talk.parts.size());
  const auto& turns = trees_[static_cast<std::size_t>(sent.tree)]
                          .conversations[static_cast<std::size_t>(sent.turn.conversation)]
                          .turns;
  if (sent.turn.turn + 1 == static_cast<std::int32_t>(turns.size())) {
    talks_.erase(sent.session);
  }
  return prompt;
}

domain::Request AgentSource::pop() {
  const Sent sent = replay_.pop();
  next_.reset();
  domain::Request request;
  request.id = core::RequestId(static_cast<core::RequestId::Rep>(sent_.size()));
  request.arrival = sent.time;
  request.prompt_tokens = core::Tokens(turn_of(sent).input + kMarkerTokens);
  request.output_tokens = core::Tokens(sent.max_tokens);
  request.max_tokens = request.output_tokens;
  request.session = core::SessionId(static_cast<core::SessionId::Rep>(sent.session));
  request.turn = sent.turn.turn;
  request.prompt = prompt_of(sent);
  sent_.push_back(sent);
  return request;
}

void AgentSource::on_completion(core::RequestId id, core::SimTime time) {
  replay_.on_end(id.value(), time, Outcome::kAnswered);
  next_.reset();
}

}  // namespace ridgeline::workload::agents
