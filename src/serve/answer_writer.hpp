#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/stream_events.hpp"
#include "serve/generation.hpp"
#include "serve/known_answers.hpp"
#include "serve/net/connection.hpp"
#include "serve/response_store.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {

/// Writes answers as far as their connections take them. Of a stream that is behind it keeps
/// nothing: what its choices lack is counted, and comes as one event.
class AnswerWriter {
 public:
  /// Both outlive it. `touch` gets the connections that were written to.
  AnswerWriter(const Settings& settings, const std::function<void(const net::Connection&)>& touch);

  /// Writes what is released of a choice of a stream.
  void write(Generation& generation, ChoiceState& choice);
  /// Writes what is left of a stream, and its end. Whether all of it is written: only the stream
  /// itself is to be ended then.
  [[nodiscard]] bool write_end(Generation& generation);
  /// The end of a stream that began and failed.
  void write_failure(Generation& generation, const openai::ApiError& error);
  /// The body of an answer that is not streamed.
  [[nodiscard]] std::string whole(Generation& generation);

  /// A response that has ended, as it is kept. Once.
  [[nodiscard]] KeptResponse kept(Generation& generation);

  /// Connections that faults have ended since the last call: their requests are to be cancelled.
  [[nodiscard]] std::vector<net::Connection*> take_lost() { return std::exchange(lost_, {}); }
  /// Answers that later prompts may go on from.
  [[nodiscard]] const KnownAnswers& answers() const { return known_; }
  void forget_answers() { known_ = KnownAnswers(kMostKnown); }

 private:
  static constexpr std::size_t kMostKnown = 1'000'000;

  void begin_stream(Generation& generation);
  void write_start(Generation& generation, ChoiceState& choice);
  void write_events(Generation& generation, ChoiceState& choice, std::int64_t upto);
  [[nodiscard]] std::vector<openai::Choice> choices_of(const Generation& generation) const;
  void remember(const Generation& generation);
  [[nodiscard]] openai::Usage usage_of(const Generation& generation) const;
  [[nodiscard]] static openai::Usage usage_of(const Generation& generation,
                                              const ChoiceState& choice);

  const Settings& settings_;
  const std::function<void(const net::Connection&)>& touch_;
  KnownAnswers known_{kMostKnown};
  std::vector<net::Connection*> lost_;
  std::string scratch_;
  std::string text_;
};

}  // namespace ridgeline::serve
