#include "latency/kernel/speculative_model.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/draft_level.hpp"
#include "domain/step.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Adds the parts of one more pass to those of its kind.
void add_parts(std::vector<OperatorTime>& total, std::vector<OperatorTime> more) {
  for (OperatorTime& part : more) {
    part.name = "draft_" + part.name;
    const auto same = std::find_if(total.begin(), total.end(), [&](const OperatorTime& known) {
      return known.name == part.name && known.phase == part.phase;
    });
    if (same == total.end()) {
      total.push_back(std::move(part));
      continue;
    }
    same->calls += part.calls;
    same->flops += part.flops;
    same->padding += part.padding;
    same->bytes += part.bytes;
    same->time += part.time;
  }
}

}  // namespace

SpeculativeModel::SpeculativeModel(std::unique_ptr<StepTimeModel> target,
                                   std::unique_ptr<StepTimeModel> draft,
                                   std::int64_t num_drafts,
                                   core::Warning note,
                                   std::vector<domain::DraftLevel> levels,
                                   DraftChain chain)
    : target_(std::move(target)),
      draft_(std::move(draft)),
      num_drafts_(num_drafts),
      note_(std::move(note)),
      levels_(std::move(levels)),
      chain_(chain) {
  RIDGELINE_CHECK(num_drafts_ >= 1, "speculation without drafts");
}

void SpeculativeModel::each_pass(const domain::StepBatch& batch,
                                 const std::function<void(const domain::StepBatch&)>& visit) const {
  const std::int64_t requests = batch.num_decodes + std::ssize(batch.prefills);
  const std::int64_t drafts = domain::drafts_after(levels_, requests, num_drafts_);
  if (draft_ == nullptr || drafts == 0) {
    return;
  }
  std::vector<domain::PrefillChunk> chunks(batch.prefills.begin(), batch.prefills.end());
  if (chain_.is_block) {
    for (std::int64_t i = 0; i < batch.num_decodes; ++i) {
      chunks.push_back({.past = core::Tokens(batch.decode_context.value() / batch.num_decodes),
                        .new_tokens = core::Tokens(1)});
    }
    for (domain::PrefillChunk& chunk : chunks) {
      chunk.new_tokens += core::Tokens(chunk.samples ? drafts : 0);
      chunk.drafts = chunk.samples ? drafts : 0;
    }
    domain::StepBatch block;
    block.prefills = chunks;
    visit(block);
    return;
  }
  domain::StepBatch next;
  if (!chain_.of_verified) {
    next.num_decodes = batch.num_decodes;
    next.decode_context = batch.decode_context + core::Tokens(batch.num_decodes);
  }
  for (domain::PrefillChunk& chunk : chunks) {
    if (chain_.of_verified ? chunk.drafts > 0 : chunk.samples) {
      next.num_decodes += chain_.branches;
      next.decode_context += (chunk.past + chunk.new_tokens) * chain_.branches;
    }
    chunk.drafts = 0;  // It proposes after the last of them; the target has judged the others.
  }
  domain::StepBatch first = batch;
  first.prefills = chunks;
  visit(first);
  if (next.num_decodes == 0) {
    return;  // Nothing was sampled, so nothing is drafted.
  }
  const std::int64_t passes = chain_.passes > 0 ? chain_.passes : drafts;
  for (std::int64_t pass = 1; pass < passes; ++pass) {
    visit(next);
    next.decode_context += core::Tokens(next.num_decodes);
  }
}

domain::StepTime SpeculativeModel::predict(const domain::StepBatch& batch) const {
  domain::StepTime total = target_->predict(batch);
  each_pass(batch, [&](const domain::StepBatch& pass) { total.add(draft_->predict(pass), 1); });
  return total;
}

domain::StepTime SpeculativeModel::predict_logged(const domain::StepBatch& batch,
                                                  LookupLog& log) const {
  static_cast<void>(target_->predict_logged(batch, log));
  return predict(batch);
}

Explanation SpeculativeModel::explain(const domain::StepBatch& batch) const {
  Explanation result = target_->explain(batch);
  result.total = predict(batch);
  std::vector<OperatorTime> drafting;
  each_pass(batch, [&](const domain::StepBatch& pass) {
    add_parts(drafting, draft_->explain(pass).parts);
  });
  std::move(drafting.begin(), drafting.end(), std::back_inserter(result.parts));
  settle_rounding(result);
  return result;
}

core::Warnings SpeculativeModel::notes() const {
  core::Warnings notes = target_->notes();
  notes.push_back(note_);
  return notes;
}

}  // namespace ridgeline::latency::kernel
