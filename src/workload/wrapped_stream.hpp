#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {

/// A stream that changes the items of another and leaves everything else as it is.
class WrappedStream : public ItemStream {
 public:
  explicit WrappedStream(std::unique_ptr<ItemStream> inner) : inner_(std::move(inner)) {}

  bool next(Item& item) override { return inner_->next(item); }
  [[nodiscard]] const core::Errors& errors() const override { return inner_->errors(); }
  [[nodiscard]] core::Warnings warnings() const override { return inner_->warnings(); }
  [[nodiscard]] const Labels& labels() const override { return inner_->labels(); }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return inner_->stages(); }
  [[nodiscard]] bool waits_for_answers() const override { return inner_->waits_for_answers(); }
  [[nodiscard]] bool is_flat() const override { return inner_->is_flat(); }
  [[nodiscard]] bool answers_are_absolute() const override {
    return inner_->answers_are_absolute();
  }
  [[nodiscard]] bool is_endless() const override { return inner_->is_endless(); }
  [[nodiscard]] std::optional<core::Duration> sends_before() const override {
    return inner_->sends_before();
  }
  [[nodiscard]] std::int64_t of_other_ranks() const override { return inner_->of_other_ranks(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return std::nullopt; }
  [[nodiscard]] std::optional<double> share_read() const override { return inner_->share_read(); }
  [[nodiscard]] core::Tokens block_tokens() const override { return inner_->block_tokens(); }

 protected:
  [[nodiscard]] ItemStream& inner() const { return *inner_; }

 private:
  std::unique_ptr<ItemStream> inner_;
};

}  // namespace ridgeline::workload
