#include "plan/operator_class.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::plan {
namespace {

struct Word {
  std::string_view within;  ///< Part of an operator's name.
  OperatorClass kind;
};
constexpr auto kWords = std::to_array<Word>({
    {"experts", OperatorClass::kExperts},
    {"all_reduce", OperatorClass::kCommunication},
    {"all_to_all", OperatorClass::kCommunication},
    {"dispatch", OperatorClass::kCommunication},
    {"combine", OperatorClass::kCommunication},
    {"exchange", OperatorClass::kCommunication},
    {"send_to", OperatorClass::kCommunication},
    {"gather", OperatorClass::kCommunication},
    {"elementwise", OperatorClass::kElementwise},
    {"norm", OperatorClass::kElementwise},
    {"sampling", OperatorClass::kSampling},
    {"gap", OperatorClass::kGaps},
});

}  // namespace

OperatorClass class_of(const latency::OperatorTime& part) {
  if (part.phase == "prefill") {
    return OperatorClass::kPrefillAttention;
  }
  if (part.phase == "decode") {
    return OperatorClass::kDecodeAttention;
  }
  const auto* const word = std::ranges::find_if(kWords, [&](const Word& each) {
    return part.name.find(each.within) != std::string_view::npos;
  });
  return word == kWords.end() ? OperatorClass::kGemm : word->kind;
}

TimeByClass time_by_class(const latency::Explanation& step) {
  TimeByClass times{};
  for (const latency::OperatorTime& part : step.parts) {
    times[static_cast<std::size_t>(class_of(part))] += part.time.value();
  }
  return times;
}

TimeByClass StepParts::of(const domain::StepBatch& batch) const {
  std::vector<std::int64_t> key = {batch.num_decodes,
                                   batch.decode_context.value(),
                                   batch.shared_context.value(),
                                   std::ssize(batch.prefills)};
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    key.insert(key.end(),
               {chunk.past.value(), chunk.new_tokens.value(), chunk.samples ? 1 : 0, chunk.drafts});
  }
  for (const core::Tokens length : batch.decode_lengths) {
    key.push_back(length.value());
  }
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) {
      return known->second;
    }
  }
  const TimeByClass times = time_by_class(model_.explain(batch));
  const std::scoped_lock lock(mutex_);
  known_.emplace(std::move(key), times);
  return times;
}

}  // namespace ridgeline::plan
