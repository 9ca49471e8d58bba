#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::cli {

/// The document of a call is no larger.
inline constexpr std::uint64_t kLargestBody = 1024ULL * 1024;
/// Between two looks at calls that go on, and where none does.
inline constexpr std::chrono::milliseconds kLook{2};
inline constexpr std::chrono::milliseconds kRest{100};

/// The port of --listen.
[[nodiscard]] core::Result<int> listen_port(const Arguments& arguments);

/// 128 random bits; empty where the system gives none.
[[nodiscard]] std::string random_token();

/// Whether a request to a server of this machine may be another page's: a name of another machine
/// that leads here has that name as Host; a page of elsewhere says so in Origin and Sec-Fetch-Site.
[[nodiscard]] bool comes_from_elsewhere(const serve::net::HttpRequest& request,
                                        std::string_view port);

}  // namespace ridgeline::cli
