#include "report/plan_page.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/front.hpp"
#include "report/chart/svg.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/leaves.hpp"
#include "report/scale.hpp"
#include "report/table/table.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using figures::FrontPoint;
using figures::number_at;

using Texts = std::vector<std::vector<std::string>>;

constexpr std::size_t kMostRows = 50;  ///< Rows of a table other than the answer.
constexpr std::string_view kNothing = "\u2013";

std::span<const Node> items_at(const Node& tree, std::string_view path) {
  const Node* const node = at_path(tree, path);
  return node != nullptr && node->is_list() ? std::span<const Node>(node->items())
                                            : std::span<const Node>();
}

/// A number there with its unit, or a dash.
std::string cell(const Node& tree,
                 std::string_view path,
                 std::string_view unit = {},
                 Format format = Format::kSignificant) {
  const Node* const node = at_path(tree, path);
  return node != nullptr && node->is_number()
             ? fmt::format("{}{}{}", cell_text(node, format), unit.empty() ? "" : " ", unit)
             : std::string(kNothing);
}

std::string count_cell(const Node& tree, std::string_view path) {
  return cell(tree, path, {}, Format::kCount);
}

bool is_bound(const Node& candidate) {
  return !text_at(candidate, "bound").empty();
}

std::string share_text(const Node& candidate, std::string_view path) {
  const Node* const share = at_path(candidate, path);
  return share != nullptr && share->is_number()
             ? fmt::format("{:.0f} %", share->as_real() * kPerCent)
             : std::string(kNothing);
}

std::string sure_text(const Node& candidate) {
  return is_bound(candidate) ? "at best" : share_text(candidate, "p_feasible");
}

/// "3 × h200 TP2"
std::string candidate_text(const Node& candidate) {
  return fmt::format("{} \u00d7 {}",
                     static_cast<std::int64_t>(number_at(candidate, "deployment.replicas")),
                     text_at(candidate, "deployment.label"));
}

std::string price_text(const Node& candidate) {
  const Node* const price = candidate.find("usd_per_hour");
  return price != nullptr && price->is_number() ? fmt::format("{:.2f}", price->as_real())
                                                : "no price";
}

/// "p99 TTFT ≤ 500 ms"
std::string target_text(const Node& target) {
  std::vector<std::string> limits;
  for (const auto& member : target.members()) {
    constexpr std::string_view kUnit = "_ms";
    if (member.key.ends_with(kUnit) && member.value.is_number()) {
      limits.push_back(fmt::format(
          "{} \u2264 {} ms",
          upper(std::string_view(member.key).substr(0, member.key.size() - kUnit.size())),
          fmt::format("{:g}", member.value.as_real())));
    }
  }
  const std::string statistic = text_at(target, "statistic");
  return statistic == "attainment" ? fmt::format("{} of requests {}",
                                                 share_text(target, "attainment"),
                                                 fmt::join(limits, " and "))
                                   : fmt::format("{} {}", statistic, fmt::join(limits, " and "));
}

std::string section(std::string_view id, std::string_view title, const std::string& html) {
  return html.empty() ? html
                      : fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n",
                                    id,
                                    xml_escaped(title),
                                    html);
}

/// A table of texts; nothing without rows.
std::string table(const std::vector<std::string>& head, Texts rows) {
  if (rows.empty()) {
    return {};
  }
  for (auto& row : rows) {
    for (std::string& text : row) {
      text = xml_escaped(text);
    }
  }
  return table_html(head, rows);
}

/// Warnings, and what was done.
std::string notes_html(const Node& plan, const std::string& done) {
  std::string html;
  for (const Node& warning : items_at(plan, "warnings")) {
    const std::string hint = text_at(warning, "hint");
    html += fmt::format("<p>{}</p>\n",
                        xml_escaped(fmt::format("{}: {}{}{}",
                                                text_at(warning, "code"),
                                                text_at(warning, "message"),
                                                hint.empty() ? "" : "; ",
                                                hint)));
  }
  html += fmt::format("<p class=\"caption\">{}; Ridgeline {}, digest {}</p>\n",
                      done,
                      xml_escaped(text_at(plan, "run_info.version")),
                      xml_escaped(text_at(plan, "digest")));
  return section("notes", "To know", html);
}

std::string requests_text(const Node& plan, std::string_view path) {
  return grouped(static_cast<std::int64_t>(number_at(plan, path))) + " requests simulated";
}

/// The page of a mix of GPUs for several classes of requests.
std::string mix_page(const Node& plan) {
  std::string page = page_opening("Plan: a mix of deployments");
  std::vector<std::string> classes;
  for (const Node& one : items_at(plan, "question.classes")) {
    classes.push_back(fmt::format("{} {}", text_at(one, "name"), cell(one, "rate_rps", "req/s")));
  }
  page += fmt::format("<p id=\"question\">{}</p>\n",
                      xml_escaped(fmt::format("{}; least {}, at least {} sure; {}",
                                              fmt::join(classes, ", "),
                                              text_at(plan, "question.objective"),
                                              share_text(plan, "question.confidence"),
                                              text_at(plan, "config.engine"))));
  const std::string failure = text_at(plan, "mix.failure");
  page +=
      failure.empty()
          ? fmt::format(
                "<p class=\"finding\" id=\"answer\">{} {}; one deployment for all: {}</p>\n",
                cell(plan, "mix.cost"),
                xml_escaped(text_at(plan, "question.objective")),
                cell(plan, "mix.alone.cost"))
          : fmt::format("<p class=\"finding bad\" id=\"answer\">{}</p>\n", xml_escaped(failure));
  std::vector<std::string> head = {"", "pool", "GPUs", "cost", "req/s"};
  head.insert(head.end(), classes.begin(), classes.end());
  for (const Node& target : items_at(plan, "question.slo")) {
    head.push_back(xml_escaped(leaf_text(target)));
  }
  head.emplace_back("sure");
  Texts rows;
  for (const Node& pool : items_at(plan, "mix.pools")) {
    std::vector<std::string> row = {
        fmt::format("{}", rows.size() + 1),
        fmt::format("{} \u00d7 {}", count_cell(pool, "replicas"), text_at(pool, "deployment")),
        count_cell(pool, "gpus"),
        cell(pool, "cost"),
        cell(pool, "rate_rps")};
    for (const Node& share : items_at(pool, "shares")) {
      row.push_back(share.is_number() ? percent(share.as_real()) : "");
    }
    for (const Node& target : items_at(pool, "slo")) {
      row.push_back(cell(target, "value", "ms"));
    }
    row.resize(head.size() - 1);
    row.push_back(sure_text(pool));
    rows.push_back(std::move(row));
  }
  page += section("ranking", "Pools, and what of each class they serve", table(head, rows));
  for (const Node& pool : items_at(plan, "mix.pools")) {
    if (is_bound(pool)) {
      page += fmt::format("<p class=\"caption\">{} at best: {}.</p>\n",
                          xml_escaped(text_at(pool, "deployment")),
                          xml_escaped(text_at(pool, "bound")));
    }
  }
  return page + notes_html(plan, requests_text(plan, "requests_simulated")) + page_closing("");
}

class PlanPage {
 public:
  explicit PlanPage(const Node& plan) : plan_(plan) {
    for (const Node& id : items_at(plan, "ranking")) {
      if (const Node* found = candidate_of(id.is_string() ? id.as_string() : "")) {
        ranking_.push_back(found);
      }
    }
    pick_ = candidate_of(text_at(plan, "answer.id"));
    capacity_ = at_path(plan, "question.clients") != nullptr ? "capacity_clients" : "capacity_rps";
    unit_ = capacity_ == "capacity_clients" ? "clients" : "req/s";
    for (const Node& candidate : items_at(plan, "candidates")) {
      const Node* const price = candidate.find("usd_per_hour");
      has_price_ = has_price_ || (price != nullptr && price->is_number());
    }
  }

  [[nodiscard]] std::string draw() const {
    std::string page =
        page_opening(fmt::format("Plan: {}, {}", models(), text_at(plan_, "question.workload")));
    page += question_html() + answer_html() + ranking_html();
    for (const figures::Figure& figure : pictures()) {
      if (!figure.marks.empty()) {
        page += figure_section(figure);
      }
    }
    return page + sure_html() + price_html() + rejected_html() + dropped_html() +
           notes_html(plan_,
                      fmt::format("{} points, {}",
                                  count_cell(plan_, "search.points"),
                                  requests_text(plan_, "search.requests_simulated"))) +
           page_closing("");
  }

 private:
  [[nodiscard]] const Node* candidate_of(const std::string& id) const {
    for (const Node& candidate : items_at(plan_, "candidates")) {
      if (!id.empty() && text_at(candidate, "id") == id) {
        return &candidate;
      }
    }
    return nullptr;
  }

  /// Whether the most of a load is asked for, and not the least of a cost.
  [[nodiscard]] bool maximizes() const { return !text_at(plan_, "question.maximize").empty(); }

  [[nodiscard]] std::string models() const {
    std::vector<std::string> models;
    for (const Node& candidate : items_at(plan_, "candidates")) {
      std::string model = text_at(candidate, "deployment.model");
      if (std::ranges::find(models, model) == models.end()) {
        models.push_back(std::move(model));
      }
    }
    return fmt::format("{}", fmt::join(models, ", "));
  }

  [[nodiscard]] std::string question_html() const {
    std::vector<std::string> targets;
    for (const Node& target : items_at(plan_, "question.slo")) {
      targets.push_back(target_text(target));
    }
    std::vector<std::string> objectives;
    for (const Node& objective : items_at(plan_, "question.objective")) {
      objectives.push_back(leaf_text(objective));
    }
    return fmt::format("<p id=\"question\">{}</p>\n",
                       xml_escaped(fmt::format(
                           "{}; {}, at least {} sure; {}",
                           fmt::join(targets, ", "),
                           maximizes() ? "most output tokens per second"
                                       : fmt::format("least {}", fmt::join(objectives, " and ")),
                           share_text(plan_, "question.confidence"),
                           text_at(plan_, "config.engine"))));
  }

  [[nodiscard]] std::string answer_html() const {
    if (pick_ == nullptr) {
      std::string html = fmt::format("<p class=\"finding bad\" id=\"answer\">{}</p>\n",
                                     xml_escaped(text_at(plan_, "answer.failure")));
      for (const Node& nearest : items_at(plan_, "answer.nearest")) {
        html += fmt::format("<p>Nearest: {}</p>\n", xml_escaped(leaf_text(nearest)));
      }
      return html;
    }
    std::string html = fmt::format("<p class=\"finding\" id=\"answer\">{}</p>\n",
                                   xml_escaped(candidate_text(*pick_)));
    if (is_bound(*pick_)) {
      html += fmt::format("<p class=\"bad\">{}</p>\n", xml_escaped(text_at(*pick_, "bound")));
    }
    const auto card = [&](std::string_view name, const std::string& value, std::string_view small) {
      html += fmt::format("<dl class=\"card\"><dt>{}</dt><dd>{}<small>{}</small></dd></dl>\n",
                          name,
                          xml_escaped(value),
                          xml_escaped(small));
    };
    html += "<div class=\"cards\">\n";
    card("GPUs", count_cell(*pick_, "gpus"), text_at(*pick_, "deployment.gpu"));
    if (has_price_) {
      card("USD per hour",
           price_text(*pick_),
           cell(*pick_, "usd_per_mtok", "USD per M output tokens, ") +
               cell(*pick_, "usd_per_total_mtok", "per M input and output tokens"));
    }
    card("capacity",
         capacity_text(*pick_) + " " + unit_,
         is_bound(*pick_) ? "at best" : "80 % of what is expected lies between");
    card("headroom", cell(plan_, "answer.headroom_pct", "%"), "of capacity above the load");
    card("sure",
         sure_text(*pick_),
         is_bound(*pick_) ? "no certainty is said of bounds" : "that so many replicas suffice");
    card("windows",
         fmt::format("{} of {}",
                     count_cell(*pick_, "certificate.passed"),
                     count_cell(*pick_, "certificate.windows")),
         "met every target");
    return html + "</div>\n";
  }

  [[nodiscard]] std::string capacity_text(const Node& candidate) const {
    const Node* const capacity = candidate.find(capacity_);
    if (capacity == nullptr || !capacity->is_map()) {
      return std::string(kNothing);
    }
    return is_bound(candidate) ? "\u2264 " + cell(*capacity, "value")
                               : fmt::format("{} ({}\u2013{})",
                                             cell(*capacity, "value"),
                                             cell(*capacity, "lo"),
                                             cell(*capacity, "hi"));
  }

  [[nodiscard]] std::string ranking_html() const {
    std::vector<std::string> head = {"", "deployment", "engine", "GPUs"};
    if (has_price_) {
      head.emplace_back("USD/h");
    }
    head.push_back("capacity " + unit_);
    for (const Node& target : items_at(plan_, "question.slo")) {
      head.push_back(xml_escaped(target_text(target)));
    }
    if (maximizes()) {
      head.emplace_back("output tokens/s");
    }
    head.emplace_back("sure");
    Texts rows;
    for (std::size_t i = 0; i < ranking_.size(); ++i) {
      const Node& candidate = *ranking_[i];
      std::vector<std::string> row = {fmt::format("{}", i + 1),
                                      candidate_text(candidate),
                                      text_at(candidate, "deployment.engine_version"),
                                      count_cell(candidate, "gpus")};
      if (has_price_) {
        row.push_back(price_text(candidate));
      }
      row.push_back(capacity_text(candidate));
      for (const Node& target : items_at(candidate, "slo")) {
        const Node* const value = target.find("value");
        row.push_back(value != nullptr && value->is_number()
                          ? fmt::format("{}{}",
                                        is_bound(candidate) ? "\u2265 " : "",
                                        cell(target, "value", "ms"))
                          : fmt::format("{} over", share_text(target, "exceed_share")));
      }
      if (maximizes()) {
        row.push_back(cell(candidate, "recommended_load.output_tokens_per_s"));
      }
      row.resize(head.size() - 1);
      row.push_back(sure_text(candidate));
      rows.push_back(std::move(row));
    }
    return section(
        "ranking", "Deployments, the best first", table(head, std::move(rows)) + ranking_notes());
  }

  /// Which rows have the numbers of others, and what bounds rest on.
  [[nodiscard]] std::string ranking_notes() const {
    std::string html;
    for (std::size_t i = 0; i < ranking_.size(); ++i) {
      std::vector<std::string> twins;
      for (const Node& id : items_at(*ranking_[i], "twins")) {
        const Node* const twin = candidate_of(id.is_string() ? id.as_string() : "");
        twins.push_back(twin != nullptr ? text_at(*twin, "deployment.label") : "");
      }
      if (!twins.empty()) {
        html += fmt::format("<p class=\"caption\">{} has the numbers of {}.</p>\n",
                            i + 1,
                            xml_escaped(fmt::format("{}", fmt::join(twins, ", "))));
      }
    }
    std::vector<std::string> bounds;
    for (const Node* candidate : ranking_) {
      const std::string bound = text_at(*candidate, "bound");
      if (is_bound(*candidate) && std::ranges::find(bounds, bound) == bounds.end()) {
        bounds.push_back(bound);
        html += fmt::format("<p class=\"caption\">At best: {}.</p>\n", xml_escaped(bound));
      }
    }
    return html;
  }

  /// Cost and speed of everything whose capacity is known.
  [[nodiscard]] std::vector<figures::Figure> pictures() const {
    std::vector<FrontPoint> costs;
    std::vector<FrontPoint> speeds;
    for (const Node& candidate : items_at(plan_, "candidates")) {
      const double gpus = number_at(candidate, "gpus");
      const double served = number_at(candidate, fmt::format("{}.value", capacity_));
      if (gpus <= 0.0 || served <= 0.0) {
        continue;
      }
      FrontPoint point{
          .label = candidate_text(candidate) + (is_bound(candidate) ? ", at best" : ""),
          .gpu = text_at(candidate, "deployment.gpu"),
          .x = has_price_ ? number_at(candidate, "usd_per_hour") : gpus,
          .y = served};
      costs.push_back(point);
      for (const Node& target : items_at(candidate, "slo")) {
        const double tpot = number_at(target, "value");
        if (text_at(target, "metric") == "TPOT" && tpot > 0.0) {
          point.x = kMillisecondsPerSecond / tpot;
          point.y = served / gpus;
          speeds.push_back(point);
        }
      }
    }
    const std::string of_gpus = fmt::format("{} within the targets", unit_);
    return {figures::front(
                costs,
                {.id = "cost",
                 .title = "What is served for what it costs",
                 .caption = "Each deployment with the replicas that it needs. Lines are each "
                            "GPU's front: nothing cheaper of that GPU serves more.",
                 .x_name = has_price_ ? "USD per hour" : "GPUs",
                 .y_name = of_gpus + ", all replicas",
                 .less_is_better = true}),
            figures::front(speeds,
                           {.id = "interactivity",
                            .title = "What a GPU serves, against a user's speed",
                            .caption = "A user's speed is 1 / TPOT, by the target's statistic.",
                            .x_name = "tokens per second of one user",
                            .y_name = of_gpus + ", per GPU"})};
  }

  [[nodiscard]] std::string sure_html() const {
    if (pick_ == nullptr || is_bound(*pick_)) {
      return {};
    }
    std::string html = fmt::format(
        "<p>{}</p>\n",
        xml_escaped(fmt::format(
            "The answer suffices with {}; with {} no other deployment would have been better. On "
            "average it costs {} more than what would have done, were everything known.",
            share_text(*pick_, "p_feasible"),
            share_text(*pick_, "p_best"),
            cell(plan_, "answer.expected_regret_pct", "%"))));
    Texts causes;
    for (const Node& factor : items_at(plan_, "sensitivity")) {
      constexpr double kWorthNaming = 1.0;
      if (number_at(factor, "doubt_of_answer_pct") >= kWorthNaming) {
        causes.push_back({text_at(factor, "factor"), cell(factor, "doubt_of_answer_pct", "%")});
      }
    }
    html += table({"what is not known well", "of the doubt"}, std::move(causes));
    Texts measurements;
    for (const Node& one : items_at(plan_, "measure")) {
      constexpr double kWorthMeasuring = 0.02;
      constexpr std::size_t kMostMeasurements = 5;
      if (number_at(one, "changes_answer_probability") >= kWorthMeasuring &&
          measurements.size() < kMostMeasurements) {
        measurements.push_back({text_at(one, "what"),
                                share_text(one, "changes_answer_probability"),
                                cell(one, "resolves_pct", "%"),
                                cell(one, "minutes", "min")});
      }
    }
    html += table({"worth measuring", "changes the answer", "of the doubt", "takes"},
                  std::move(measurements));
    return section("sure", "How sure that is", html);
  }

  [[nodiscard]] std::string price_html() const {
    Texts rows;
    for (const Node& even : items_at(plan_, "breakeven")) {
      rows.push_back({fmt::format("until {} costs {} \u00d7 {}",
                                  text_at(even, "gpu"),
                                  cell(even, "ratio"),
                                  text_at(even, "against")),
                      cell(even, "now")});
    }
    return section(
        "price", "At which prices it stands", table({"the answer stays best", "now"}, rows));
  }

  [[nodiscard]] std::string rejected_html() const {
    Texts rows;
    for (const Node& rejection : items_at(plan_, "rejected")) {
      rows.push_back({text_at(rejection, "reason"),
                      count_cell(rejection, "count"),
                      text_at(rejection, "example")});
    }
    return section("rejected", "Refused by rule", table({"reason", "points", "the first"}, rows));
  }

  [[nodiscard]] std::string dropped_html() const {
    Texts rows;
    std::size_t all = 0;
    for (const Node& candidate : items_at(plan_, "candidates")) {
      const std::string reason = text_at(candidate, "dropped.reason");
      if (!reason.empty() && ++all <= kMostRows) {
        rows.push_back({text_at(candidate, "deployment.label"), reason});
      }
    }
    return section("refused",
                   fmt::format("Left out: {}{}",
                               grouped(static_cast<std::int64_t>(all)),
                               all > kMostRows ? ", the first of them" : ""),
                   table({"", "reason"}, rows));
  }

  const Node& plan_;
  std::vector<const Node*> ranking_;
  const Node* pick_ = nullptr;
  std::string capacity_;
  std::string unit_;
  bool has_price_ = false;
};

}  // namespace

std::string plan_page(const Node& plan) {
  return plan.find("mix") != nullptr ? mix_page(plan) : PlanPage(plan).draw();
}

}  // namespace ridgeline::report
