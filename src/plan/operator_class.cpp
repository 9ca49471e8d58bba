#include "plan/operator_class.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "latency/step_time_model.hpp"

namespace ridgeline::plan {
namespace {

struct Word {
  std::string_view within;  ///< Of a name.
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

}  // namespace ridgeline::plan
