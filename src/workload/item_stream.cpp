#include "workload/item_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {
namespace {

class ListStream final : public ItemStream {
 public:
  explicit ListStream(ItemList list) : list_(std::move(list)) {
    flat_ = std::ranges::all_of(list_.items, &Item::starts_group);
    waits_ =
        std::ranges::any_of(list_.items, [](const Item& item) { return !item.parents.empty(); }) ||
        std::ranges::any_of(list_.stages, [](const Stage& stage) {
          return stage.max_concurrency > 0 || stage.after_previous;
        });
  }

  bool next(Item& item) override {
    if (position_ == list_.items.size()) {
      return false;
    }
    item = std::move(list_.items[position_++]);
    return true;
  }
  [[nodiscard]] core::Warnings warnings() const override { return list_.warnings; }
  [[nodiscard]] const Labels& labels() const override { return list_.labels; }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return list_.stages; }
  [[nodiscard]] bool waits_for_answers() const override { return waits_; }
  [[nodiscard]] bool is_flat() const override { return flat_; }
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    return static_cast<std::int64_t>(list_.items.size());
  }
  [[nodiscard]] std::optional<double> share_read() const override {
    return list_.items.empty()
               ? 1.0
               : static_cast<double>(position_) / static_cast<double>(list_.items.size());
  }
  [[nodiscard]] core::Tokens block_tokens() const override { return list_.block_tokens; }

 private:
  ItemList list_;
  bool flat_ = true;
  bool waits_ = false;
  std::size_t position_ = 0;
};

}  // namespace

const core::Errors& ItemStream::errors() const {
  static const core::Errors kNone;
  return kNone;
}
const Labels& ItemStream::labels() const {
  static const Labels kNone;
  return kNone;
}
const std::vector<Stage>& ItemStream::stages() const {
  static const std::vector<Stage> kOne = {Stage{}};
  return kOne;
}

bool keeps_group_rules(const ItemList& list) {
  if (list.stages.empty()) {
    return false;
  }
  std::size_t place = 0;
  std::int32_t stage = 0;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Item& item = list.items[i];
    place = item.starts_group ? 0 : place + 1;
    if ((i == 0 && !item.starts_group) || item.stage < stage ||
        static_cast<std::size_t>(item.stage) >= list.stages.size() ||
        (!item.starts_group && item.stage != stage)) {
      return false;
    }
    stage = item.stage;
    for (const std::uint32_t parent : item.parents) {
      if (parent >= place) {
        return false;
      }
    }
    for (const auto& segment : item.prompt) {
      if (is_output(segment.content) && (segment.content & ~output_of(0)) >= place) {
        return false;
      }
    }
  }
  return true;
}

std::unique_ptr<ItemStream> make_list_stream(ItemList list) {
  RIDGELINE_CHECK(keeps_group_rules(list), "a list of items that breaks the rules of groups");
  return std::make_unique<ListStream>(std::move(list));
}

core::Result<ItemList> read_all(ItemStream& stream) {
  ItemList list;
  list.stages = stream.stages();
  list.block_tokens = stream.block_tokens();
  Item item;
  while (stream.next(item)) {
    list.items.push_back(item);
  }
  if (!stream.errors().empty()) {
    return core::fail(stream.errors());
  }
  list.labels = stream.labels();
  list.warnings = stream.warnings();
  return list;
}

}  // namespace ridgeline::workload
