#include "plan/prices.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/input_files.hpp"
#include "document/reader.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/data_files.hpp"

namespace ridgeline::plan {
namespace {

constexpr std::int64_t kOldDays = 90;
/// Above 0, and far beyond any price: a slip of the keyboard.
constexpr document::Range<double> kPrice{.lowest = 1e-6, .highest = 1e6};
constexpr std::string_view kCurrency = "USD";

std::optional<int> number(std::string_view text) {
  const auto value = core::parse_whole<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<Price> read_price(const document::Node::Member& member,
                                const std::string& field,
                                core::Errors& errors) {
  const auto gpu = hardware::find_gpu(member.key);
  if (!gpu) {
    for (core::Error error : gpu.error()) {
      error.field = field;
      error.where = member.where;
      errors.push_back(std::move(error));
    }
    return std::nullopt;
  }
  document::ObjectReader reader(member.value, field, errors);
  Price price{.gpu = gpu->name};
  price.usd_per_hour = reader.required_real("value", kPrice);
  const std::string date = reader.required_string("date");
  if (const auto parsed = Date::parse(date)) {
    price.date = *parsed;
  } else if (!date.empty()) {
    reader.problem("date", fmt::format("found \"{}\", expected a day such as 2026-05-07", date));
  }
  price.source = reader.required_string("source");
  reader.finish();
  return price;
}

}  // namespace

std::optional<Date> Date::parse(std::string_view text) {
  constexpr std::size_t kLength = 10;  // "2026-05-07"
  if (text.size() != kLength || text[4] != '-' || text[7] != '-') {
    return std::nullopt;
  }
  const auto year = number(text.substr(0, 4));
  const auto month = number(text.substr(5, 2));
  const auto day = number(text.substr(8, 2));
  if (!year || !month || !day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return Date{.days = std::chrono::sys_days(date).time_since_epoch().count()};
}

std::string Date::text() const {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

const Price* Prices::of(std::string_view gpu) const {
  const auto found = std::ranges::find(all, gpu, &Price::gpu);
  return found == all.end() ? nullptr : &*found;
}

core::Result<Prices> read_prices(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  Prices prices{.file = file};
  document::ObjectReader top(*document, "", errors);
  prices.is_example = top.boolean("example").value_or(false);
  if (const auto currency = top.string("currency"); currency && *currency != kCurrency) {
    top.problem("currency",
                fmt::format("found \"{}\", expected USD", *currency),
                "convert the prices: costs are in US dollars");
  }
  const document::Node* list = top.node("prices");
  if (list == nullptr || !list->is_map()) {
    top.problem("prices", "expected a map of GPUs to {value, date, source}");
  } else {
    for (const auto& member : list->members()) {
      const std::string field = "prices." + member.key;
      if (auto price = read_price(member, field, errors)) {
        if (prices.of(price->gpu) != nullptr) {
          errors.push_back({.field = field,
                            .message = fmt::format("{} has a price already", price->gpu),
                            .where = member.where});
        } else {
          prices.all.push_back(std::move(*price));
        }
      }
    }
  }
  top.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return prices;
}

core::Result<Prices> load_prices(const std::string& path) {
  if (path.empty()) {
    const auto files = price_files();
    RIDGELINE_CHECK(files.size() == 1, "one example of prices");
    return read_prices(files.front().text, std::string(files.front().name));
  }
  return document::read_file(path).and_then(
      [&](const std::string& text) { return read_prices(text, path); });
}

core::Warnings price_warnings(const Prices& prices,
                              const std::vector<std::string>& gpus,
                              const std::optional<Date>& as_of) {
  core::Warnings warnings;
  if (prices.is_example) {
    warnings.push_back({.code = "W-example-prices",
                        .message = fmt::format("prices are those of the example {}", prices.file),
                        .hint = "give your own: cost.prices"});
  }
  const Price* oldest = nullptr;
  for (const std::string& gpu : gpus) {
    if (const Price* price = prices.of(gpu);
        price != nullptr && (oldest == nullptr || price->date < oldest->date)) {
      oldest = price;
    }
  }
  if (oldest == nullptr) {
    return warnings;
  }
  if (!as_of) {
    warnings.push_back(
        {.code = "W-undated-prices",
         .message = fmt::format("the price of {} is of {}; whether that is old is not judged",
                                oldest->gpu,
                                oldest->date.text()),
         .hint = "cost.as_of: the day of the plan"});
  } else if (const std::int64_t age = as_of->days - oldest->date.days; age > kOldDays) {
    warnings.push_back({.code = "W-old-prices",
                        .message = fmt::format("the price of {} is of {}, {} days before {}",
                                               oldest->gpu,
                                               oldest->date.text(),
                                               age,
                                               as_of->text()),
                        .hint = "cost.prices: a list of this quarter"});
  }
  return warnings;
}

}  // namespace ridgeline::plan
