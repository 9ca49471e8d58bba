#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "domain/label_set.hpp"
#include "domain/request.hpp"
#include "workload/carried.hpp"
#include "workload/item.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// Which requests are held to a schema, as --structured-output-ratio of vLLM's
/// benchmark_serving_structured_output.py.
struct StructuredOutputOptions {
  double ratio = 0.0;        ///< Share of the requests, 0 to 1.
  std::int64_t schemas = 1;  ///< Distinct ones, each as likely; >= 1.
  std::uint64_t seed = 0;
};

/// The requests of another source, some of them with the grammar of a structured output. Whether a
/// request has one, and which, follows from the seed and its id alone.
class StructuredOutputs final : public Source {
 public:
  StructuredOutputs(std::unique_ptr<Source> source, const StructuredOutputOptions& options);

  std::optional<core::SimTime> next_arrival() override { return source_->next_arrival(); }
  domain::Request pop() override;
  void pop_into(domain::Request& request) override;
  [[nodiscard]] bool is_closed_loop() const override { return source_->is_closed_loop(); }
  void on_completion(core::RequestId id, core::SimTime time) override {
    source_->on_completion(id, time);
  }
  [[nodiscard]] const core::Errors& errors() const override { return source_->errors(); }
  [[nodiscard]] core::Warnings warnings() const override { return source_->warnings(); }
  [[nodiscard]] const domain::LabelSets* label_sets() const override {
    return source_->label_sets();
  }
  [[nodiscard]] const Labels& labels() const override { return source_->labels(); }
  [[nodiscard]] Carried carried() const override { return source_->carried(); }
  [[nodiscard]] const statistics::QueueGrowth* held_back() const override {
    return source_->held_back();
  }
  [[nodiscard]] bool names_prompts() const override { return source_->names_prompts(); }
  [[nodiscard]] bool prompts_hold_answers() const override {
    return source_->prompts_hold_answers();
  }
  [[nodiscard]] bool may_give_up() const override { return source_->may_give_up(); }
  [[nodiscard]] std::int64_t of_other_ranks() const override { return source_->of_other_ranks(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return source_->size(); }

 private:
  [[nodiscard]] core::GrammarId grammar_of(core::RequestId id) const;

  std::unique_ptr<Source> source_;
  StructuredOutputOptions options_;
};

}  // namespace ridgeline::workload
