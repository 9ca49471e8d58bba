#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/source.hpp"

namespace ridgeline::plan {

/// Several open-loop workloads at once, in the order of arrival, the first of them among equals;
/// numbered anew. Ends after `count` requests. Prompts that share contents must be in one of them
/// alone.
class MergedSource final : public workload::Source {
 public:
  MergedSource(std::vector<std::unique_ptr<workload::Source>> sources, std::int64_t count);

  [[nodiscard]] std::optional<core::SimTime> next_arrival() override;
  domain::Request pop() override;
  [[nodiscard]] const core::Errors& errors() const override;
  [[nodiscard]] std::optional<std::int64_t> size() const override { return count_; }

 private:
  [[nodiscard]] std::size_t earliest();

  std::vector<std::unique_ptr<workload::Source>> sources_;
  std::int64_t count_;
  std::int64_t popped_ = 0;
};

}  // namespace ridgeline::plan
