#include "openai/answer_form.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "document/json_writer.hpp"
#include "openai/answers.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/message_form.hpp"
#include "openai/response_form.hpp"
#include "openai/stream_events.hpp"

namespace ridgeline::openai {
namespace {

/// Completions and chats.
class UsualForm final : public AnswerForm {
 public:
  explicit UsualForm(const StreamHead& head) : head_(head), events_(head) {}

  void add_start(std::int64_t index,
                 const Usage& usage,
                 bool is_usage_wanted,
                 std::string& out) override {
    if (head_.api == Api::kChat) {
      events_.add_role(index, is_usage_wanted ? &usage : nullptr, out);
    }
  }
  void add_tokens(const TokenEventText& event, std::string& out) override {
    events_.add_tokens(event, out);
  }
  void add_end(std::span<const Choice> /*choices*/,
               const Usage& usage,
               bool is_usage_wanted,
               std::string& out) override {
    if (is_usage_wanted) {
      events_.add_usage(usage, out);
    }
    out += StreamEvents::kDone;
  }
  void add_failure(const ApiError& error, std::string& out) override {
    out += "data: " + error_event(error, head_.version) + "\n\n";
    out += StreamEvents::kDone;
  }
  std::string whole(std::span<const Choice> choices,
                    const Usage& usage,
                    std::string_view kv_transfer_params) override {
    return whole_answer(head_, choices, usage, kv_transfer_params);
  }
  [[nodiscard]] std::string error(const ApiError& error) const override {
    return error_body(error, head_.version);
  }

 private:
  StreamHead head_;
  StreamEvents events_;
};

}  // namespace

std::unique_ptr<AnswerForm> make_answer_form(const StreamHead& head) {
  switch (head.api) {
    case Api::kResponses:
      return std::make_unique<ResponseForm>(head);
    case Api::kMessages:
      return std::make_unique<MessageForm>(head);
    case Api::kCompletions:
    case Api::kChat:
      break;
  }
  return std::make_unique<UsualForm>(head);
}

std::string json_quoted(std::string_view text) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.value(text);
  return json.text();
}

}  // namespace ridgeline::openai
