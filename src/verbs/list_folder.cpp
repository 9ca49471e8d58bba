#include <string>
#include <utility>

#include "core/result.hpp"
#include "model/networks_in_folder.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "verbs/list_networks.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {

core::Result<Reply> list_folder(const std::string& folder) {
  auto networks = model::networks_in_folder(folder);
  if (!networks) {
    return core::fail(std::move(networks).error());
  }
  const auto found = shared(std::move(*networks));
  Reply reply{.tree = tree_of(found, networks_tree)};
  for (const char* const format : {"table", "markdown"}) {
    reply.views[format] = [found, format](const report::TextStyle& style) {
      return networks_text(networks_tree(*found), report::face_of(format), style);
    };
  }
  return reply;
}

}  // namespace ridgeline::verbs
