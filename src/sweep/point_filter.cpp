#include "sweep/point_filter.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axis_values.hpp"

namespace ridgeline::sweep {
namespace {

constexpr std::string_view kNetworkKey = "model";
constexpr std::string_view kGpuKey = "gpu";

std::size_t axis_of(const std::vector<Axis>& axes, std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(axes, path, &Axis::path) - axes.begin());
}

/// The names that stand at a key in all points: those of its axis, else the scenario's one.
std::vector<std::string> names_at(std::string_view key,
                                  const std::vector<Axis>& axes,
                                  const document::Node& base,
                                  const std::vector<scenario::Override>& overrides) {
  std::vector<std::string> names;
  if (const std::size_t axis = axis_of(axes, key); axis < axes.size()) {
    for (const document::Node& value : axes[axis].values) {
      names.push_back(value.is_string() ? value.as_string() : "");
    }
    return names;
  }
  const document::Node* stated = base.find(key);
  names.push_back(stated != nullptr && stated->is_string() ? stated->as_string() : "");
  for (const scenario::Override& change : overrides) {
    if (change.path == key) {
      names.back() = change.text;
    }
  }
  return names;
}

std::vector<bool> values_for(const Axis& axis,
                             const model::ModelSpec& network,
                             const hardware::GpuSpec& gpu) {
  std::vector<bool> has;
  for (const document::Node& value : axis.values) {
    if (axis.derived == Derived::kExpertParallel) {
      has.push_back(!value.as_bool() || model::has_experts(network));
    } else {
      const std::int64_t size = value.as_integer();
      has.push_back(size <= gpu.gpus_per_node &&
                    model::check_sharding(network, {.tensor_parallel_size = size}).has_value());
    }
  }
  return has;
}

}  // namespace

/// Reads what a PointFilter consists of.
class FilterReader {
 public:
  explicit FilterReader(const std::vector<Axis>& axes) : axes_(axes) {}

  void read_exclusions(const document::Node& node) {
    const auto refuse = [&](const document::Node& found) {
      errors_.push_back(
          {.field = "exclude",
           .message = fmt::format("found {}, expected a list of maps", found.describe()),
           .where = found.where(),
           .hint = "exclude: [{gpu: l40s, engine: {tensor_parallel_size: 8}}]"});
    };
    if (!node.is_list()) {
      refuse(node);
      return;
    }
    for (const document::Node& item : node.items()) {
      if (!item.is_map() || item.members().empty()) {
        refuse(item);
        continue;
      }
      PointFilter::Exclusion exclusion;
      read_conditions("", item, exclusion);
      filter_.exclusions_.push_back(std::move(exclusion));
    }
  }

  void derive(const document::Node& base, const std::vector<scenario::Override>& overrides) {
    if (std::ranges::all_of(axes_,
                            [](const Axis& axis) { return axis.derived == Derived::kNothing; })) {
      return;
    }
    const auto networks = names_at(kNetworkKey, axes_, base, overrides);
    const auto gpus = names_at(kGpuKey, axes_, base, overrides);
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i].derived != Derived::kNothing) {
        filter_.derivations_.push_back({.axis = i,
                                        .network_axis = axis_of(axes_, kNetworkKey),
                                        .gpu_axis = axis_of(axes_, kGpuKey),
                                        .gpus = gpus.size(),
                                        .values = {}});
      }
    }
    for (const std::string& network_name : networks) {
      for (const std::string& gpu_name : gpus) {
        add_pair(network_name, gpu_name);
        if (!errors_.empty()) {
          return;
        }
      }
    }
  }

  core::Result<PointFilter> finish() {
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(filter_);
  }

 private:
  void add_pair(const std::string& network_name, const std::string& gpu_name) {
    const auto network = model::find_model(network_name);
    const auto gpu = hardware::find_gpu(gpu_name);
    keep_errors(network, kNetworkKey);
    keep_errors(gpu, kGpuKey);
    if (!network || !gpu) {
      return;
    }
    for (PointFilter::Derivation& derivation : filter_.derivations_) {
      derivation.values.push_back(values_for(axes_[derivation.axis], *network, *gpu));
    }
  }

  template <class T>
  void keep_errors(const core::Result<T>& found, std::string_view field) {
    if (found) {
      return;
    }
    for (core::Error error : found.error()) {
      error.field = error.field.empty() ? std::string(field) : error.field;
      errors_.push_back(std::move(error));
    }
  }

  void read_conditions(const std::string& path,
                       const document::Node& node,
                       PointFilter::Exclusion& exclusion) {
    for (const auto& member : node.members()) {
      const std::string below = path.empty() ? member.key : fmt::format("{}.{}", path, member.key);
      std::size_t axis = axis_of(axes_, below);
      if (axis == axes_.size() && !member.value.is_map()) {
        axis = axis_of(axes_, fmt::format("{}.{}", below, scenario::naming_key(below)));
      }
      if (axis < axes_.size()) {
        exclusion.push_back(condition(axis, member.value));
      } else if (member.value.is_map()) {
        read_conditions(below, member.value, exclusion);
      } else {
        std::vector<std::string> paths;
        for (const Axis& known : axes_) {
          paths.push_back(known.path);
        }
        const auto meant = document::nearest(below, paths);
        errors_.push_back({.field = "exclude." + below,
                           .message = "is not varied by any axis",
                           .where = member.where,
                           .hint = meant ? fmt::format("did you mean {}?", *meant)
                                         : fmt::format("axes: {}", fmt::join(paths, ", "))});
      }
    }
  }

  PointFilter::Condition condition(std::size_t axis, const document::Node& node) {
    const Axis& varied = axes_[axis];
    PointFilter::Condition out{.axis = axis, .values = std::vector(varied.values.size(), false)};
    const std::vector<document::Node> wanted =
        node.is_list() ? node.items() : std::vector<document::Node>{node};
    for (const document::Node& value : wanted) {
      const auto found = std::ranges::find_if(
          varied.values, [&](const document::Node& other) { return same_value(other, value); });
      if (found == varied.values.end()) {
        errors_.push_back(
            {.field = "exclude." + varied.path,
             .message = fmt::format("{} is none of the axis's values", scenario::flow_text(value)),
             .where = value.where()});
      } else {
        out.values[static_cast<std::size_t>(found - varied.values.begin())] = true;
      }
    }
    return out;
  }

  const std::vector<Axis>& axes_;
  PointFilter filter_;
  core::Errors errors_;
};

void choice_of(std::int64_t combination,
               const std::vector<Axis>& axes,
               std::vector<std::size_t>& choice) {
  choice.assign(axes.size(), 0);
  auto rest = static_cast<std::size_t>(combination);
  for (std::size_t i = axes.size(); i-- > 0;) {
    choice[i] = rest % axes[i].values.size();
    rest /= axes[i].values.size();
  }
}

core::Result<PointFilter> PointFilter::make(const std::vector<Axis>& axes,
                                            const document::Node* exclude,
                                            const document::Node& base,
                                            const std::vector<scenario::Override>& overrides) {
  FilterReader reader(axes);
  if (exclude != nullptr && !exclude->is_null()) {
    reader.read_exclusions(*exclude);
  }
  reader.derive(base, overrides);
  return reader.finish();
}

bool PointFilter::excludes(const Exclusion& exclusion,
                           const std::vector<std::size_t>& choice) const {
  return std::ranges::all_of(exclusion, [&](const Condition& condition) {
    return condition.values[choice[condition.axis]];
  });
}

bool PointFilter::keeps(const std::vector<std::size_t>& choice) const {
  const auto at = [&](std::size_t axis) { return axis < choice.size() ? choice[axis] : 0; };
  const bool is_derived = std::ranges::all_of(derivations_, [&](const Derivation& derivation) {
    const std::size_t pair =
        at(derivation.network_axis) * derivation.gpus + at(derivation.gpu_axis);
    return derivation.values[pair][choice[derivation.axis]];
  });
  return is_derived && std::ranges::none_of(exclusions_, [&](const Exclusion& exclusion) {
           return excludes(exclusion, choice);
         });
}

}  // namespace ridgeline::sweep
