#include "deploy/nginx.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "deploy/layout.hpp"
#include "deploy/placement.hpp"
#include "deploy/pod.hpp"

namespace ridgeline::deploy {
namespace {

/// The directive of a policy in an upstream block; round robin is what there is without one.
constexpr auto kDirectives = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"least-request", "    least_conn;\n"},
     {"random", "    random;\n"},
     {"random-two", "    random two least_conn;\n"}});

}  // namespace

std::string gateway_command(const Layout& layout) {
  return fmt::format(
      R"sh(
# The gateway ({}), on port {}.
nginx -c "$(cd "$(dirname "$0")" && pwd)/nginx.conf" -g 'daemon off;' &
wait -n
)sh",
      layout.router,
      kPort);
}

std::string nginx_conf(const Layout& layout) {
  std::string_view directive;
  for (const auto& [router, text] : kDirectives) {
    if (router == layout.router) {
      directive = text;
    }
  }
  std::string servers;
  const Placement placement = placement_of(layout);
  for (const Part& part : placement.parts) {
    if (part.rank == 0) {
      servers += fmt::format("    server {}:{};\n",
                             placement.nodes > 1 ? node_name(part.node) : "127.0.0.1",
                             part.port);
    }
  }
  return fmt::format(R"({header}worker_processes 1;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  upstream replicas {{
{directive}{servers}  }}
  server {{
    listen {port};
    client_max_body_size 0;
    location / {{
      proxy_pass http://replicas;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }}
  }}
}}
)",
                     fmt::arg("header", layout.header),
                     fmt::arg("directive", directive),
                     fmt::arg("servers", servers),
                     fmt::arg("port", kPort));
}

}  // namespace ridgeline::deploy
