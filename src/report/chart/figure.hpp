#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/chart/marks.hpp"

namespace ridgeline::report::figures {

/// A picture of a result with the same content as words and numbers. Drawn from the result's tree
/// alone, so that whatever holds a result can draw it.
struct Figure {
  std::string id;                ///< A word: the anchor on a page.
  std::string title;             ///< What is shown, with units.
  std::string description = {};  ///< What is to be seen, for a reader that sees no picture.
  std::string caption = {};      ///< How the numbers are defined.
  double width = 0.0;
  double height = 0.0;
  std::string marks = {};  ///< The content of the SVG.
  /// Attributes that say where its time axis lies (Lanes::place()); empty: it has none.
  std::string time_axis = {};
  std::vector<std::string> head = {};
  std::vector<std::vector<std::string>> rows = {};  ///< The table; cells per column of `head`.

  void draw(const Canvas& canvas);
};

/// The colours and lines of all marks, for pages in light and in dark: CSS.
[[nodiscard]] std::string_view figure_style();
/// The picture as an element of a page that has figure_style().
[[nodiscard]] std::string inline_svg(const Figure& figure);
/// The picture as a file of its own.
[[nodiscard]] std::string standalone_svg(const Figure& figure);

/// A number at "summary.ttft_ms.p99"; `otherwise` where there is none.
[[nodiscard]] double number_at(const document::Node& tree,
                               std::string_view path,
                               double otherwise = 0.0);
/// The numbers of a list there; empty where there is none.
[[nodiscard]] std::vector<double> numbers_at(const document::Node& tree, std::string_view path);

/// Whether the mean decode batch of the worst stretch is another than the run's: by a quarter.
[[nodiscard]] bool worst_differs(const document::Node& result);

/// Latency distributions of a result with `series`.
[[nodiscard]] Figure distributions(const document::Node& result);
/// Five lanes over simulated time: requests, batch and queue, KV, tokens, latency.
[[nodiscard]] Figure clock(const document::Node& result);
/// Shares of requests within their targets over time. Without targets it has no marks.
[[nodiscard]] Figure attainment(const document::Node& result);
/// Where the instances' time went, in all and over time.
[[nodiscard]] Figure time_split(const document::Node& result);
/// A decode step and a prompt's step of the run's means, operator by operator.
[[nodiscard]] Figure operators(const document::Node& result);
/// The mean steps' operators under the GPU's roofs.
[[nodiscard]] Figure mean_roofline(const document::Node& result);
/// Those of the worst stretch, where worst_differs().
[[nodiscard]] Figure worst_roofline(const document::Node& result);
/// What lies in a GPU's memory.
[[nodiscard]] Figure gpu_memory(const document::Node& result);
/// The error to expect of the headline numbers. Without measured runs like this it has no marks.
[[nodiscard]] Figure error_bars(const document::Node& result);
/// The lives of the slowest requests and of some others.
[[nodiscard]] Figure waterfall(const document::Node& result);

/// Every figure of the run itself, in the order of a page: all of these but error_bars().
[[nodiscard]] std::vector<Figure> all_figures(const document::Node& result);

}  // namespace ridgeline::report::figures
