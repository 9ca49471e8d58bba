#include "workload/carried.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "domain/label_set.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {
namespace {

domain::LabelSet label_set_of(const Item& item) {
  return {.values = {item.slo_class, item.tenant, item.model, item.adapter, item.priority}};
}

bool has_media(const Item& item) {
  return item.images > 0 || item.audios > 0 || item.videos > 0;
}

}  // namespace

core::LabelSetId CarriedTally::take(const Item& item) {
  ++counts_.requests;
  counts_.with_priority += item.priority != 0 ? 1 : 0;
  counts_.with_adapter += item.adapter >= 0 ? 1 : 0;
  counts_.with_media += has_media(item) ? 1 : 0;
  counts_.with_session += item.session >= 0 ? 1 : 0;
  adapters_.add(item.adapter);
  models_.add(item.model);
  return sets_.number_of(label_set_of(item));
}

Carried CarriedTally::counts(const Labels& labels) const {
  Carried counts = counts_;
  counts.adapters = adapters_.names(labels);
  counts.models = models_.names(labels);
  return counts;
}

void CarriedTally::Numbers::add(std::int32_t number) {
  if (number < 0) {
    return;
  }
  const auto place = static_cast<std::size_t>(number);
  if (place >= seen_.size()) {
    seen_.resize(place + 1);
  }
  if (!seen_[place]) {
    seen_[place] = true;
    order_.push_back(number);
  }
}

std::vector<std::string> CarriedTally::Numbers::names(const Labels& labels) const {
  std::vector<std::string> names;
  names.reserve(order_.size());
  for (const std::int32_t number : order_) {
    names.push_back(labels.name(number));
  }
  return names;
}

bool carries_anything(const Item& item) {
  return label_set_of(item) != domain::LabelSet() || has_media(item);
}

}  // namespace ridgeline::workload
