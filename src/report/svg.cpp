#include "report/svg.hpp"

#include <string>
#include <string_view>

namespace ridgeline::report {

std::string xml_escaped(std::string_view text) {
  constexpr unsigned char kFirstPrintable = 0x20;
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= kFirstPrintable) {
          escaped += c;
        }
    }
  }
  return escaped;
}

}  // namespace ridgeline::report
