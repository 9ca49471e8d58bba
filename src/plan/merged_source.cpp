#include "plan/merged_source.hpp"

#include <utility>

#include "core/check.hpp"
#include "core/ids.hpp"

namespace ridgeline::plan {

MergedSource::MergedSource(std::vector<std::unique_ptr<workload::Source>> sources,
                           std::int64_t count)
    : sources_(std::move(sources)), count_(count) {}

std::size_t MergedSource::earliest() {
  std::size_t found = sources_.size();
  std::optional<core::SimTime> first;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto arrival = sources_[i]->next_arrival();
    if (arrival && (!first || *arrival < *first)) {
      first = arrival;
      found = i;
    }
  }
  return found;
}

std::optional<core::SimTime> MergedSource::next_arrival() {
  const std::size_t first = popped_ < count_ ? earliest() : sources_.size();
  return first < sources_.size() ? sources_[first]->next_arrival() : std::nullopt;
}

domain::Request MergedSource::pop() {
  const std::size_t first = earliest();
  RIDGELINE_CHECK(popped_ < count_ && first < sources_.size(), "there is a request to take");
  domain::Request request = sources_[first]->pop();
  request.id = core::RequestId(static_cast<core::RequestId::Rep>(popped_++));
  return request;
}

const core::Errors& MergedSource::errors() const {
  for (const auto& source : sources_) {
    if (!source->errors().empty()) {
      return source->errors();
    }
  }
  return Source::errors();
}

}  // namespace ridgeline::plan
