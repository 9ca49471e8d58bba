#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "deploy/layout.hpp"

namespace ridgeline::deploy {

/// The routing policies that NGINX has (ngx_http_upstream_module), by our names.
inline constexpr std::array<std::string_view, 4> kNginxRouters = {
    "round-robin", "least-request", "random", "random-two"};

/// Ports of the replicas of a machine, behind the one of the gateway.
inline constexpr std::int64_t kFirstReplicaPort = 8001;

/// In a script of several servers: the end of one ends all.
inline constexpr std::string_view kStopTogether = "trap 'kill $(jobs -p)' EXIT\n";
/// The last lines of such a script: NGINX, and waiting for the first process to end.
[[nodiscard]] std::string gateway_command(const Layout& layout);

/// A whole nginx.conf that routes to the replicas by the layout's policy. Answers
/// are passed on token by token.
[[nodiscard]] std::string nginx_conf(const Layout& layout);

}  // namespace ridgeline::deploy
