#include "report/chart/figure.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/marks.hpp"
#include "report/chart/svg.hpp"

namespace ridgeline::report::figures {
namespace {

// Okabe and Ito's colours (Color Universal Design, 2008), which colour-blind readers tell apart;
// lines differ by their dashes too. On dark pages the dark ones are lighter.
constexpr std::string_view kLight =
    "--ink:#1f2328;--quiet:#59636e;--rule:#d8dee4;--edge:#8c959f;--paper:#ffffff;"
    "--a:#0072b2;--b:#d55e00;--c:#009e73;--d:#a0558a;--e:#8a6d00;--f:#56b4e9;--g:#e69f00;";
constexpr std::string_view kDark =
    "--ink:#e6edf3;--quiet:#9da7b1;--rule:#30363d;--edge:#656c76;--paper:#0d1117;"
    "--a:#56b4e9;--b:#f0883e;--c:#2fc49b;--d:#c978ad;--e:#e5c100;--f:#0072b2;--g:#e69f00";
constexpr std::string_view kPrint = "--ink:#000;--quiet:#444;--rule:#ddd;--edge:#888;--paper:#fff;";
constexpr std::string_view kRules =
    R"(.fig text{font:12px system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:var(--ink)}
.fig .quiet{fill:var(--quiet)}.fig .strong{font-weight:600}.fig .page{fill:var(--paper)}
.fig .frame{fill:none;stroke:var(--edge)}.fig .grid{stroke:var(--rule)}
.fig .la,.fig .lb,.fig .lc,.fig .ld,.fig .le{fill:none;stroke-width:1.5}
.fig .la{stroke:var(--a)}.fig .lb{stroke:var(--b);stroke-dasharray:5 2}
.fig .lc{stroke:var(--c);stroke-dasharray:2 2}.fig .ld{stroke:var(--d);stroke-dasharray:8 2 2 2}
.fig .le{stroke:var(--e);stroke-dasharray:1 3;stroke-linecap:round}
.fig .ba{fill:var(--a);opacity:.25}.fig .bc{fill:var(--c);opacity:.25}
.fig .fa{fill:var(--a)}.fig .fb{fill:var(--b)}.fig .fc{fill:var(--c)}.fig .fd{fill:var(--d)}
.fig .fe{fill:var(--rule)}.fig .ff{fill:var(--f)}.fig .fg{fill:var(--g)}
.fig .lf{fill:none;stroke-width:1.5;stroke:var(--g);stroke-dasharray:12 3}
.fig .measured{stroke-dasharray:6 4;stroke-width:2.5}
.fig .whisker,.fig .cross{stroke:var(--ink);fill:none}.fig .heat{fill:var(--a)}.fig .target{stroke:var(--ink);stroke-dasharray:4 3}
.fig .hover{stroke:var(--ink)}.fig .title{font-size:16px;font-weight:600}
.fig .open{fill:var(--paper);stroke:var(--a);stroke-width:1.5}.fig .ring{fill:none;stroke:var(--b);stroke-width:2}
)";

/// kRules in the light colours, for programs that know no variables: all but browsers.
std::string plain_style() {
  constexpr std::string_view kVariable = "var(";
  std::string style;
  std::string_view rest = kRules;
  for (std::size_t at = rest.find(kVariable); at != std::string_view::npos;
       at = rest.find(kVariable)) {
    const std::size_t close = rest.find(')', at);
    const std::string name =
        fmt::format("{}:", rest.substr(at + kVariable.size(), close - at - kVariable.size()));
    const std::size_t colour = kLight.find(name) + name.size();
    style += rest.substr(0, at);
    style += kLight.substr(colour, kLight.find(';', colour) - colour);
    rest.remove_prefix(close + 1);
  }
  return style.append(rest);
}

}  // namespace

void Figure::draw(const Canvas& canvas) {
  width = canvas.width();
  height = canvas.height();
  marks = canvas.marks();
}

std::string_view figure_style() {
  static const std::string kStyle = fmt::format(
      "\n.fig{{{0}}}\n@media screen and (prefers-color-scheme:dark){{.fig{{{1}}}}}\n"
      "@media print{{.fig{{{0}{2}}}}}\n{3}",
      kLight,
      kDark,
      kPrint,
      kRules);
  return kStyle;
}

std::string inline_svg(const Figure& figure) {
  return fmt::format(
      "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "role=\"img\" aria-labelledby=\"{2}-t {2}-d\"{6}>\n<title id=\"{2}-t\">{3}</title>\n"
      "<desc id=\"{2}-d\">{4}</desc>\n{5}</svg>\n",
      figure.width,
      figure.height,
      figure.id,
      xml_escaped(figure.title),
      xml_escaped(figure.description),
      figure.marks,
      figure.time_axis);
}

std::string standalone_svg(const Figure& figure) {
  std::string svg = inline_svg(figure);
  const std::size_t first_mark = svg.find("</desc>\n") + std::string_view("</desc>\n").size();
  svg.insert(first_mark,
             fmt::format("<style>{}</style>\n<rect class=\"page\" width=\"{:.0f}\" "
                         "height=\"{:.0f}\"/>\n",
                         plain_style(),
                         figure.width,
                         figure.height));
  return svg;
}

double number_at(const document::Node& tree, std::string_view path, double otherwise) {
  const document::Node* const node = at_path(tree, path);
  return node != nullptr && node->is_number() ? node->as_real() : otherwise;
}

std::vector<double> numbers_at(const document::Node& tree, std::string_view path) {
  std::vector<double> numbers;
  const document::Node* const node = at_path(tree, path);
  if (node != nullptr && node->is_list()) {
    for (const document::Node& item : node->items()) {
      numbers.push_back(item.is_number() ? item.as_real() : 0.0);
    }
  }
  return numbers;
}

bool worst_differs(const document::Node& result) {
  constexpr double kQuarter = 0.25;
  const double mean = number_at(result, "mean_steps.decode.requests");
  const double worst = number_at(result, "findings.worst.decode.requests");
  return mean > 0.0 && worst > 0.0 && std::abs(worst / mean - 1.0) > kQuarter;
}

std::vector<Figure> all_figures(const document::Node& result) {
  std::vector<Figure> figures;
  for (const auto make : {distributions,
                          clock,
                          attainment,
                          time_split,
                          operators,
                          mean_roofline,
                          worst_roofline,
                          gpu_memory,
                          waterfall}) {
    Figure figure = make(result);
    if (!figure.marks.empty()) {
      figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace ridgeline::report::figures
