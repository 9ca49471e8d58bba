#include "sweep/runner.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "core/result.hpp"
#include "document/node_builder.hpp"
#include "sweep/axes.hpp"
#include "sweep/measure.hpp"
#include "sweep/row.hpp"
#include "sweep/shard_file.hpp"
#include "sweep/store.hpp"
#include "sweep/sweep.hpp"

namespace ridgeline::sweep {
namespace {

/// The points that are left, and what the threads share.
class Runner {
 public:
  Runner(const Sweep& sweep,
         const Measure& measure,
         const RunnerOptions& options,
         const std::atomic<bool>& interrupt)
      : sweep_(sweep), measure_(measure), options_(options), interrupt_(interrupt) {}

  void find_points(const Contents& contents) {
    const Shard& shard = options_.shard;
    for (std::int64_t i = shard.index; i < sweep_.size(); i += shard.count) {
      ++tally_.points;
      if (contents.has[static_cast<std::size_t>(i)]) {
        ++tally_.found;
      } else {
        left_.push_back(i);
      }
    }
  }

  core::Result<Tally> run(const Store& store) {
    if (left_.empty()) {
      return tally_;
    }
    const std::string stem = fmt::format("{}-of-{}", options_.shard.index, options_.shard.count);
    auto file = ShardFile::create(store.shards(), stem, store.header(), options_.clock);
    if (!file) {
      return core::fail(std::move(file).error());
    }
    file_ = std::move(*file);
    core::for_each_job(left_.size(), options_.jobs, [this](std::size_t i) { run_point(left_[i]); });
    keep(file_->sync());
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return tally_;
  }

 private:
  void run_point(std::int64_t ordinal) {
    if (interrupt_ || is_broken_) {
      return;
    }
    const double start = options_.clock();
    const Point point = sweep_.axes().point(ordinal);
    ResolvedPoint resolved = sweep_.resolve(point, measure_.settings);
    Row row{.ordinal = ordinal,
            .id = std::move(resolved.id),
            .point = values_of(point),
            .result = {},
            .errors = {}};
    if (!resolved.resolved) {
      row.errors = std::move(resolved.resolved).error();
    } else {
      auto found = measure_.find(*resolved.resolved, interrupt_);
      if (found && !*found) {
        return;  // Interrupted.
      }
      if (found) {
        row.result = std::move(**found);
      } else {
        row.errors = std::move(found).error();
      }
    }
    row.wall_time_s = options_.clock() - start;
    const std::string line = line_of(row);
    keep(file_->append(line));
    count(line);
  }

  [[nodiscard]] document::Node values_of(const Point& point) const {
    document::MapBuilder map;
    for (std::size_t i = 0; i < point.values.size(); ++i) {
      map.add(sweep_.axes().axes()[i].path, point.values[i]);
    }
    return map.build();
  }

  void keep(core::Result<void> done) {
    if (done) {
      return;
    }
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
    if (errors_.empty()) {
      errors_ = std::move(done).error();
    }
  }

  void count(const std::string& line) {
    const auto row = read_line(std::string_view(line).substr(0, line.size() - 1));
    const std::lock_guard lock(mutex_);
    ++tally_.done;
    if (row) {
      ++tally_.by_status[static_cast<std::size_t>(row->status)];
    }
    if (options_.progress) {
      options_.progress(tally_);
    }
  }

  const Sweep& sweep_;
  const Measure& measure_;
  const RunnerOptions& options_;
  const std::atomic<bool>& interrupt_;
  std::unique_ptr<ShardFile> file_;
  std::vector<std::int64_t> left_;
  std::atomic<bool> is_broken_ = false;
  std::mutex mutex_;
  Tally tally_;
  core::Errors errors_;
};

}  // namespace

core::Result<Tally> run_shard(const Sweep& sweep,
                              const Measure& measure,
                              const Store& store,
                              const RunnerOptions& options,
                              const std::atomic<bool>& interrupt) {
  const auto contents = store.read();
  if (!contents) {
    return core::fail(contents.error());
  }
  Runner runner(sweep, measure, options, interrupt);
  runner.find_points(*contents);
  return runner.run(store);
}

}  // namespace ridgeline::sweep
