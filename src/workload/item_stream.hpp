#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {

/// The internal form of every workload: items pulled one after the other, group by group, groups in
/// the order in which they start within their stage. Memory need not follow the stream's length.
class ItemStream {
 public:
  virtual ~ItemStream() = default;

  /// The next item, which replaces all of `item`; false when the stream has ended, or when errors()
  /// say why not.
  virtual bool next(Item& item) = 0;

  [[nodiscard]] virtual const core::Errors& errors() const;
  /// What the reader of a result should know: rows left out, fields that mean nothing here. Whole
  /// when the stream has ended.
  [[nodiscard]] virtual core::Warnings warnings() const { return {}; }
  /// Texts that the items name by number. Grows while the stream is read.
  [[nodiscard]] virtual const Labels& labels() const;
  /// At least one; known before the first item.
  [[nodiscard]] virtual const std::vector<Stage>& stages() const;
  /// Whether some item waits for an answer, or some group for a place: known before the first item.
  [[nodiscard]] virtual bool waits_for_answers() const { return false; }
  /// Whether every group is a single item; known before the first item.
  [[nodiscard]] virtual bool is_flat() const { return true; }
  /// Whether output_of() in a prompt counts items from the start of the stream, each then a group
  /// of its own, and not places in a group; known before the first item.
  [[nodiscard]] virtual bool answers_are_absolute() const { return false; }
  /// Whether items go on for as long as they are asked for, because only their stage's `end` ends
  /// them: how many there are depends on how long answers take. Known before the first item.
  [[nodiscard]] virtual bool is_endless() const { return false; }
  /// Nothing of it is sent at or after this time, whatever its items say: no later turn of a group
  /// that has begun either. Known before the first item.
  [[nodiscard]] virtual std::optional<core::Duration> sends_before() const { return std::nullopt; }
  /// Items read so far that belong to other serving copies (workload/compose.hpp, dealt_out).
  [[nodiscard]] virtual std::int64_t of_other_ranks() const { return 0; }
  [[nodiscard]] virtual std::optional<std::int64_t> size() const { return std::nullopt; }
  /// How much of the stream has been read, 0 to 1, for progress; nothing where that is not known.
  [[nodiscard]] virtual std::optional<double> share_read() const { return std::nullopt; }
  /// The block in which prompts are cut where the source itself cut them (512 tokens: Mooncake);
  /// zero where it did not.
  [[nodiscard]] virtual core::Tokens block_tokens() const { return core::Tokens(0); }
};

/// Makes the same stream anew, from its start: what can be read twice.
using StreamFactory = std::function<core::Result<std::unique_ptr<ItemStream>>()>;

/// A whole workload in memory.
struct ItemList {
  std::vector<Item> items;
  Labels labels;
  std::vector<Stage> stages = {Stage{}};
  core::Tokens block_tokens;
  core::Warnings warnings;
};

/// Whether `list` keeps the rules of groups: the first item starts one, parents stand before, the
/// stages exist.
[[nodiscard]] bool keeps_group_rules(const ItemList& list);

/// A list as a stream. Requires keeps_group_rules(list).
[[nodiscard]] std::unique_ptr<ItemStream> make_list_stream(ItemList list);

/// Everything that is left of a stream; fails with its errors.
[[nodiscard]] core::Result<ItemList> read_all(ItemStream& stream);

}  // namespace ridgeline::workload
