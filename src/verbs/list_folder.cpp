#include <string>
#include <utility>

#include "core/result.hpp"
#include "model/networks_in_folder.hpp"
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
  return Reply{.tree = tree_of(found, networks_tree),
               .views = {{"table", view_of(found, networks_table)},
                         {"markdown", view_of(found, networks_markdown)}}};
}

}  // namespace ridgeline::verbs
