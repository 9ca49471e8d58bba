#include "cli/loopback.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <sys/random.h>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::cli {
namespace {

bool is_here(std::string_view host, std::string_view port) {
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"127.0.0.1", "localhost", "[::1]"},
      [&](std::string_view name) { return host == fmt::format("{}:{}", name, port); });
}

}  // namespace

core::Result<int> listen_port(const Arguments& arguments) {
  constexpr int kLastPort = 65535;
  const std::string text = arguments.value("listen");
  const int port = core::parse_whole<int>(text).value_or(-1);
  if (port < 0 || port > kLastPort) {
    return core::fail(
        core::Error{.field = "--listen",
                    .message = fmt::format("found \"{}\", expected a port, 0 to {}; 0: any "
                                           "that is free",
                                           text,
                                           kLastPort)});
  }
  return port;
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

bool comes_from_elsewhere(const serve::net::HttpRequest& request, std::string_view port) {
  constexpr std::string_view kScheme = "http://";
  if (!is_here(request.header("host"), port)) {
    return true;
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty() &&
      !(origin.starts_with(kScheme) && is_here(origin.substr(kScheme.size()), port))) {
    return true;
  }
  const std::string_view site = request.header("sec-fetch-site");
  return !site.empty() && site != "same-origin" && site != "none";
}

}  // namespace ridgeline::cli
