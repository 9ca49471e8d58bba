#include "deploy/targets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"

namespace ridgeline::deploy {
namespace {

/// In what replicas differ: where each is.
constexpr std::array<std::string_view, 3> kPlaceFlags = {"--port", "--node-rank", "--master-addr"};

/// The words, but for the place.
std::vector<std::string> texts(const std::vector<Word>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(kPlaceFlags, words[i].text) != kPlaceFlags.end()) {
      ++i;
    } else {
      kept.push_back(words[i].text);
    }
  }
  return kept;
}

bool are_alike(const ServerFound& one, const ServerFound& other) {
  return one.network.text == other.network.text && one.gpus == other.gpus &&
         texts(one.words) == texts(other.words) && texts(one.variables) == texts(other.variables);
}

}  // namespace

void add_alike(std::vector<ServerFound>& servers, ServerFound server, core::Errors& errors) {
  if (servers.empty()) {
    servers.push_back(std::move(server));
  } else if (are_alike(servers.front(), server)) {
    ++servers.front().replicas;
  } else {
    errors.push_back({.message = "this server differs from the first one of the file in more than "
                                 "where it is: they are to be replicas",
                      .where = server.network.where});
  }
}

}  // namespace ridgeline::deploy
