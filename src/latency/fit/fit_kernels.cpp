#include "latency/fit/fit_kernels.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/parse.hpp"
#include "core/rng.hpp"
#include "latency/fit/least_squares.hpp"
#include "latency/fit/operators.hpp"
#include "latency/fit/samples.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::fit {
namespace {

constexpr std::size_t kRowsPerConstant = 2;
/// A common set is searched on so many times fewer rows of each GPU.
constexpr std::size_t kCommonShare = 2;

/// The selected rows of one operator on one GPU.
struct GpuRows {
  const SampleTable* table = nullptr;
  std::vector<const Sample*> all;
};

struct Row {
  const Sample* sample;
  const hardware::GpuSpec* gpu;
};

/// `most` rows in an order that has nothing to do with the file's; always the same ones.
std::vector<Row> drawn(const GpuRows& rows, std::size_t most) {
  std::vector<const Sample*> order = rows.all;
  if (most > 0 && most < order.size()) {
    core::RngStream random(0, 0, "kernels fit rows");
    for (std::size_t i = 0; i < most; ++i) {
      std::swap(order[i], order[i + static_cast<std::size_t>(random.below(order.size() - i))]);
    }
    order.resize(most);
  }
  std::vector<Row> result;
  for (const Sample* sample : order) {
    result.push_back({.sample = sample, .gpu = &rows.table->gpu});
  }
  return result;
}

/// As it will be written: four significant digits.
double rounded(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  return core::parse_whole<double>(text).value_or(value);
}

double quantile_of(std::vector<double>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

void add_errors(const Form& form,
                const std::vector<double>& values,
                const GpuRows& rows,
                std::vector<double>& errors) {
  const Trial trial = trial_of(form, values);
  for (const Sample* sample : rows.all) {
    errors.push_back(std::abs(predict(trial, *sample, rows.table->gpu) / sample->time - 1.0));
  }
}

RelativeErrors summary_of(std::vector<double>& errors) {
  constexpr double kMedian = 0.5;
  constexpr double kP90 = 0.9;
  const double median = quantile_of(errors, kMedian);
  return {.median = median, .p90 = quantile_of(errors, kP90)};
}

RelativeErrors errors_on(const Form& form, const std::vector<double>& values, const GpuRows& rows) {
  std::vector<double> errors;
  add_errors(form, values, rows, errors);
  return summary_of(errors);
}

/// What a network fixes of a call, whatever its tokens: equal for calls of one shape.
std::int64_t shape_of(const Sample& sample) {
  constexpr std::int64_t kNext = 1000003;
  struct Shape {
    std::int64_t operator()(const GemmCall& call) const {
      return call.shape.k * kNext + call.shape.n;
    }
    std::int64_t operator()(const DecodeAttentionCall& call) const { return heads(call.shape); }
    std::int64_t operator()(const PrefillAttentionCall& call) const { return heads(call.shape); }
    std::int64_t operator()(const ExpertCall& call) const {
      return (call.shape.hidden * kNext + call.shape.width) * kNext + call.shape.experts;
    }
    std::int64_t operator()(const AllReduceCall& call) const {
      return static_cast<std::int64_t>(call.message.value());
    }
    static std::int64_t heads(const model::Attention& shape) {
      return shape.heads * kNext + shape.kv_heads;
    }
  };
  return std::visit(Shape{}, sample.call);
}

constexpr std::size_t kQuarters = 4;

/// The quarter of the shapes that a sample belongs to.
std::size_t quarter_of(const Sample& sample) {
  core::RngStream random(static_cast<std::uint64_t>(shape_of(sample)), 0, "kernels fit shapes");
  return static_cast<std::size_t>(random.below(kQuarters));
}

/// The rows of that quarter of the shapes, or all others.
GpuRows quarter(const GpuRows& rows, std::size_t which, bool inside) {
  GpuRows part{.table = rows.table, .all = {}};
  for (const Sample* sample : rows.all) {
    if ((quarter_of(*sample) == which) == inside) {
      part.all.push_back(sample);
    }
  }
  return part;
}

/// A form and its best values, from every start.
struct Found {
  const Form* form = nullptr;
  std::vector<double> values;
  double cost = std::numeric_limits<double>::infinity();
};

Found search(const Form& form, double loss_scale, const std::vector<Row>& rows) {
  const Residuals residuals = [&](std::span<const double> values, std::span<double> into) {
    const Trial trial = trial_of(form, values);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const core::Seconds time = predict(trial, *rows[i].sample, *rows[i].gpu);
      // Logarithms weigh a prediction of half and of twice the time alike.
      into[i] = core::log(std::max(time.value(), std::numeric_limits<double>::min()) /
                          rows[i].sample->time.value());
    }
  };
  Found best;
  best.form = &form;
  for (std::size_t start = 0; start < kStarts; ++start) {
    std::vector<Unknown> unknowns;
    for (const Constant& constant : form.constants) {
      unknowns.push_back(
          {.lowest = constant.lowest, .highest = constant.highest, .start = constant.start[start]});
    }
    FitResult result = least_squares(unknowns, rows.size(), residuals, {.loss_scale = loss_scale});
    if (result.cost < best.cost) {
      best.values = std::move(result.values);
      best.cost = result.cost;
    }
  }
  for (double& value : best.values) {
    value = rounded(value);
  }
  return best;
}

/// The form with the lowest cost on these rows; of common forms only, where a common set is asked
/// for and there are any.
Found search_forms(const Operator& of, const std::vector<Row>& rows, bool common) {
  const bool has_common = std::ranges::any_of(of.forms, &Form::is_common);
  Found best;
  for (const Form& form : of.forms) {
    const bool fits =
        form.is_common == (common && has_common) && std::ranges::all_of(rows, [&](const Row& row) {
          return form.architecture.empty() || row.gpu->architecture == form.architecture;
        });
    Found found = fits ? search(form, of.loss_scale, rows) : Found();
    if (found.cost < best.cost) {
      best = std::move(found);
    }
  }
  return best;
}

/// The rows of several GPUs together: as many of each architecture, for GPUs of one resemble each
/// other.
std::vector<Row> drawn_together(const std::vector<GpuRows>& gpus,
                                const GpuRows* without,
                                std::size_t most) {
  const auto same_architecture = [&](const GpuRows& gpu) {
    return static_cast<std::size_t>(std::ranges::count_if(gpus, [&](const GpuRows& other) {
      return &other != without && other.table->gpu.architecture == gpu.table->gpu.architecture;
    }));
  };
  std::vector<Row> rows;
  for (const GpuRows& gpu : gpus) {
    if (&gpu != without) {
      const auto some = drawn(gpu, std::max<std::size_t>(1, most / same_architecture(gpu)));
      rows.insert(rows.end(), some.begin(), some.end());
    }
  }
  return rows;
}

/// Searches that do not depend on each other, on several threads.
class SearchJobs {
 public:
  void add(std::function<void()> job) { jobs_.push_back(std::move(job)); }

  void run(int threads) {
    core::for_each_job(jobs_.size(), threads, [&](std::size_t i) { jobs_[i](); });
  }

 private:
  std::vector<std::function<void()>> jobs_;
};

/// A GPU and its relative on tables of one vLLM version where there are any, so that they differ by
/// the GPU alone.
struct Relatives {
  GpuRows own;
  GpuRows other;
};

/// One operator: its rows on each GPU, and what the searches find.
struct OperatorWork {
  const Operator* of = nullptr;
  std::vector<GpuRows> gpus;
  std::vector<std::optional<Relatives>> relatives;  ///< Per GPU that has one.
  std::vector<Found> own;                           ///< Per GPU.
  std::vector<Found> without;  ///< Per GPU, on its relative or else on all others.
  std::vector<std::array<Found, kQuarters>> without_shapes;  ///< Per GPU, if asked for.
  Found common;

  [[nodiscard]] bool has_common() const { return gpus.size() > 1; }
};

std::size_t most_constants(const Operator& of) {
  std::size_t most = 0;
  for (const Form& form : of.forms) {
    most = std::max(most, form.constants.size());
  }
  return most;
}

/// "0.24.0" as numbers that compare.
std::vector<int> version_numbers(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty()) {
    int number = 0;
    const auto [end, code] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (code != std::errc()) {
      break;
    }
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.starts_with('.')) {
      version.remove_prefix(1);
    }
  }
  return numbers;
}

/// Whether a version is nearer to what was asked for than another; empty: the newest.
bool is_better_version(const std::string& version,
                       const std::string& other,
                       const std::string& asked) {
  const auto one = version_numbers(version);
  const auto two = version_numbers(other);
  if (!asked.empty()) {
    const auto limit = version_numbers(asked);
    if ((one <= limit) != (two <= limit)) {
      return one <= limit;
    }
    if (one > limit) {
      return one < two;
    }
  }
  return one > two;
}

std::string asked_version(const FitOptions& options, std::string_view key) {
  std::string version;
  for (const auto& [of, asked] : options.versions) {
    if (of == key) {
      return asked;
    }
    if (of.empty()) {
      version = asked;
    }
  }
  return version;
}

GpuRows selected_rows(const Operator& of, const SampleTable& table) {
  GpuRows rows;
  rows.table = &table;
  for (const Sample& sample : table.samples) {
    if (of.selects(sample, table.gpu)) {
      rows.all.push_back(&sample);
    }
  }
  return rows;
}

/// The tables with rows enough for the operator.
std::vector<GpuRows> usable_tables(const Operator& of, const std::vector<SampleTable>& tables) {
  std::vector<GpuRows> usable;
  for (const SampleTable& table : tables) {
    if (table.kind == of.kind) {
      GpuRows rows = selected_rows(of, table);
      if (rows.all.size() >= kRowsPerConstant * most_constants(of)) {
        usable.push_back(std::move(rows));
      }
    }
  }
  return usable;
}

/// For each GPU the table of the version nearest to the one asked for.
std::vector<GpuRows> best_tables(const std::vector<GpuRows>& usable, const std::string& asked) {
  std::vector<GpuRows> best;
  for (const GpuRows& rows : usable) {
    const auto known = std::ranges::find_if(
        best, [&](const GpuRows& other) { return other.table->gpu.name == rows.table->gpu.name; });
    if (known == best.end()) {
      best.push_back(rows);
    } else if (is_better_version(rows.table->version, known->table->version, asked)) {
      *known = rows;
    }
  }
  return best;
}

/// The first other GPU of its architecture, whose constants it takes when it has no column
/// (calibrate()).
std::optional<Relatives> relatives_of(const Operator& of,
                                      const GpuRows& gpu,
                                      const std::vector<GpuRows>& best,
                                      const std::vector<GpuRows>& usable,
                                      const std::string& asked) {
  const auto relative = std::ranges::find_if(best, [&](const GpuRows& other) {
    return other.table->gpu.name != gpu.table->gpu.name &&
           other.table->gpu.architecture == gpu.table->gpu.architecture;
  });
  if (relative == best.end()) {
    return std::nullopt;
  }
  Relatives result{.own = gpu, .other = *relative};
  if (!of.is_vllms_own) {
    return result;
  }
  for (const GpuRows& own : usable) {
    const bool better = result.own.table->version != result.other.table->version ||
                        is_better_version(own.table->version, result.own.table->version, asked);
    const auto other = std::ranges::find_if(usable, [&](const GpuRows& rows) {
      return rows.table->gpu.name == relative->table->gpu.name &&
             rows.table->version == own.table->version;
    });
    if (own.table->gpu.name == gpu.table->gpu.name && better && other != usable.end()) {
      result = {.own = own, .other = *other};
    }
  }
  return result;
}

OperatorWork work_of(const Operator& of,
                     const std::vector<SampleTable>& tables,
                     const FitOptions& options) {
  OperatorWork work;
  work.of = &of;
  const std::string asked = asked_version(options, of.key);
  const std::vector<GpuRows> usable = usable_tables(of, tables);
  work.gpus = best_tables(usable, asked);
  for (const GpuRows& gpu : work.gpus) {
    work.relatives.push_back(relatives_of(of, gpu, work.gpus, usable, asked));
  }
  work.own.resize(work.gpus.size());
  work.without.resize(work.gpus.size());
  return work;
}

void add_jobs(OperatorWork& work, const FitOptions& options, SearchJobs& jobs) {
  const std::size_t most = options.search_rows;
  for (std::size_t i = 0; i < work.gpus.size(); ++i) {
    jobs.add([&work, most, i] {
      work.own[i] = search_forms(*work.of, drawn(work.gpus[i], most), false);
    });
  }
  if (options.leave_one_out && options.leave_out == LeaveOut::kShapes) {
    work.without_shapes.resize(work.gpus.size());
    for (std::size_t i = 0; i < work.gpus.size(); ++i) {
      for (std::size_t part = 0; part < kQuarters; ++part) {
        jobs.add([&work, most, i, part] {
          const GpuRows others = quarter(work.gpus[i], part, false);
          if (!others.all.empty()) {
            work.without_shapes[i][part] = search_forms(*work.of, drawn(others, most), false);
          }
        });
      }
    }
    return;
  }
  if (!work.has_common()) {
    return;
  }
  const std::size_t share = most / kCommonShare;
  jobs.add([&work, share] {
    work.common = search_forms(*work.of, drawn_together(work.gpus, nullptr, share), true);
  });
  for (std::size_t i = 0; options.leave_one_out && i < work.gpus.size(); ++i) {
    if (work.relatives[i]) {
      jobs.add([&work, most, i] {
        work.without[i] = search_forms(*work.of, drawn(work.relatives[i]->other, most), false);
      });
    } else {
      jobs.add([&work, share, i] {
        work.without[i] =
            search_forms(*work.of, drawn_together(work.gpus, &work.gpus[i], share), true);
      });
    }
  }
}

OperatorFit fit_of(const OperatorWork& work, const Found& found) {
  return {.of = work.of,
          .form = found.form,
          .gpu = {},
          .architecture = {},
          .files = {},
          .rows = 0,
          .values = found.values,
          .in_sample = {},
          .left_out = {}};
}

/// Every row under the constants that have not seen its shape.
std::optional<RelativeErrors> shapes_left_out(const std::array<Found, kQuarters>& without,
                                              const GpuRows& rows) {
  std::vector<double> errors;
  for (std::size_t part = 0; part < kQuarters; ++part) {
    if (without[part].form != nullptr) {
      add_errors(*without[part].form, without[part].values, quarter(rows, part, true), errors);
    }
  }
  return errors.empty() ? std::nullopt : std::optional(summary_of(errors));
}

void report(const OperatorWork& work, bool leave_one_out, std::vector<OperatorFit>& fits) {
  OperatorFit common = fit_of(work, work.common);
  common.gpu = "generic";
  common.architecture = "any";
  for (std::size_t i = 0; i < work.gpus.size(); ++i) {
    const GpuRows& rows = work.gpus[i];
    OperatorFit fit = fit_of(work, work.own[i]);
    fit.gpu = rows.table->gpu.name;
    fit.architecture = rows.table->gpu.architecture;
    fit.files = {rows.table->file};
    fit.rows = rows.all.size();
    fit.in_sample = errors_on(*fit.form, fit.values, rows);
    const Found& without = work.without[i];
    if (leave_one_out && without.form != nullptr) {
      fit.left_out = errors_on(
          *without.form, without.values, work.relatives[i] ? work.relatives[i]->own : rows);
    }
    if (!work.without_shapes.empty()) {
      fit.left_out = shapes_left_out(work.without_shapes[i], rows);
    }
    common.files.push_back(rows.table->file);
    common.rows += fit.rows;
    fits.push_back(std::move(fit));
  }
  if (work.common.form != nullptr) {
    // Each GPU counts alike, however many rows it has.
    for (const GpuRows& rows : work.gpus) {
      const RelativeErrors errors = errors_on(*common.form, common.values, rows);
      common.in_sample.median += errors.median / static_cast<double>(work.gpus.size());
      common.in_sample.p90 += errors.p90 / static_cast<double>(work.gpus.size());
    }
    fits.push_back(std::move(common));
  }
}

}  // namespace

std::vector<OperatorFit> fit_kernels(const std::vector<SampleTable>& tables,
                                     const FitOptions& options) {
  std::vector<OperatorWork> works;
  for (const Operator& of : operators()) {
    works.push_back(work_of(of, tables, options));
  }
  SearchJobs jobs;
  for (OperatorWork& work : works) {
    add_jobs(work, options, jobs);
  }
  jobs.run(options.threads);
  std::vector<OperatorFit> fits;
  for (const OperatorWork& work : works) {
    report(work, options.leave_one_out, fits);
  }
  return fits;
}

}  // namespace ridgeline::latency::fit
