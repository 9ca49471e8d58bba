#include "workload/structured_outputs.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "domain/request.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

StructuredOutputs::StructuredOutputs(std::unique_ptr<Source> source,
                                     const StructuredOutputOptions& options)
    : source_(std::move(source)), options_(options) {}

domain::Request StructuredOutputs::pop() {
  domain::Request request = source_->pop();
  request.grammar = grammar_of(request.id);
  return request;
}

void StructuredOutputs::pop_into(domain::Request& request) {
  source_->pop_into(request);
  request.grammar = grammar_of(request.id);
}

core::GrammarId StructuredOutputs::grammar_of(core::RequestId id) const {
  core::RngStream rng(options_.seed, 0, "structured output", id.value());
  if (rng.uniform() >= options_.ratio) {
    return {};
  }
  return core::GrammarId(
      static_cast<core::GrammarId::Rep>(rng.below(static_cast<std::uint64_t>(options_.schemas))));
}

}  // namespace ridgeline::workload
