#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "domain/label_set.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {

/// How many requests carry what an engine need not heed.
struct Carried {
  std::int64_t requests = 0;
  std::int64_t with_priority = 0;  ///< Other than 0.
  std::int64_t with_adapter = 0;
  std::int64_t with_media = 0;        ///< Images, audios or videos.
  std::int64_t with_session = 0;      ///< Turns of a session.
  std::vector<std::string> adapters;  ///< The different names, in the order of their first use.
  std::vector<std::string> models;    ///< The different names, in the order of their first use.
};

/// Numbers the labels of items and counts what they carry, as they become requests.
class CarriedTally {
 public:
  core::LabelSetId take(const Item& item);

  [[nodiscard]] const domain::LabelSets& label_sets() const { return sets_; }
  /// `labels` are those of the items' stream.
  [[nodiscard]] Carried counts(const Labels& labels) const;

 private:
  /// Different numbers, in the order of their first use.
  class Numbers {
   public:
    void add(std::int32_t number);
    [[nodiscard]] std::vector<std::string> names(const Labels& labels) const;

   private:
    std::vector<bool> seen_;
    std::vector<std::int32_t> order_;
  };

  domain::LabelSets sets_;
  Carried counts_;
  Numbers adapters_;
  Numbers models_;
};

/// Whether an item carries any of it.
[[nodiscard]] bool carries_anything(const Item& item);

}  // namespace ridgeline::workload
