#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/staged_source.hpp"
#include "workload/item_stream.hpp"
#include "workload/source.hpp"

namespace ridgeline::evidence::validate {

/// The load of a client's file as `trace` and `replay` read it, for the one run that it is of: when
/// each request was sent, the turns of its session, and what its prompt holds. With what there is
/// to say of it (W-no-start-times). `text` are the bytes of the file, or of its line.
void take_load(const std::string& text, const std::string& path, Evidence& evidence);
/// Takes the load of a file that lies beside the result's own.
void take_load_of_file(const std::string& path, Evidence& evidence);

/// Such a load as a run's one stage. Of several data-parallel ranks it has the requests of one.
class FileLoad final : public StagedSource {
 public:
  FileLoad(const workload::ItemList& items, std::int64_t ranks);

  std::optional<core::SimTime> next_arrival() override { return source_->next_arrival(); }
  domain::Request pop() override { return source_->pop(); }
  [[nodiscard]] bool is_closed_loop() const override { return source_->is_closed_loop(); }
  void on_completion(core::RequestId id, core::SimTime time) override {
    source_->on_completion(id, time);
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return own_; }
  [[nodiscard]] bool names_prompts() const override { return source_->names_prompts(); }
  [[nodiscard]] bool prompts_hold_answers() const override {
    return source_->prompts_hold_answers();
  }
  [[nodiscard]] std::size_t stage_of(core::RequestId /*id*/) const override { return 0; }
  /// How many times the requests of one rank the deployment has.
  [[nodiscard]] double times_rank() const { return times_rank_; }

 private:
  std::unique_ptr<workload::Source> source_;
  std::int64_t own_ = 0;
  double times_rank_ = 1.0;
};

}  // namespace ridgeline::evidence::validate
