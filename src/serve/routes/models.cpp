#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/token_requests.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {

void answer_models(Emulator& emulator,
                   net::Connection& connection,
                   const net::HttpRequest& /*request*/) {
  std::vector<openai::ModelCard> cards;
  for (const std::string& name : emulator.settings().model_names) {
    cards.push_back({.id = name,
                     .root = emulator.settings().root,
                     .parent = std::nullopt,
                     .max_model_len = emulator.max_model_len()});
  }
  for (const std::string& adapter : emulator.adapters()) {
    cards.push_back({.id = adapter,
                     .root = adapter,
                     .parent = emulator.settings().model_names.front(),
                     .max_model_len = 0});
  }
  emulator.answer(connection,
                  200,
                  net::kJsonType,
                  openai::models_answer(cards, static_cast<std::int64_t>(emulator.created())));
}

void load_adapter(Emulator& emulator,
                  net::Connection& connection,
                  const net::HttpRequest& request) {
  const auto wanted = openai::parse_adapter(request.body);
  if (!wanted) {
    emulator.answer_error(connection, wanted.error());
    return;
  }
  if (wanted->name.empty() || wanted->path.empty()) {
    emulator.answer_error(connection,
                          {.status = 400,
                           .type = "InvalidUserInput",
                           .message = "Both 'lora_name' and 'lora_path' must be provided."});
    return;
  }
  auto& adapters = emulator.adapters();
  if (std::ranges::find(adapters, wanted->name) != adapters.end()) {
    emulator.answer_error(
        connection,
        {.status = 400,
         .type = "InvalidUserInput",
         .message = fmt::format(
             "The lora adapter '{}' has already been loaded. If you want to load the adapter in "
             "place, set 'load_inplace' to True.",
             wanted->name)});
    return;
  }
  adapters.push_back(wanted->name);
  emulator.answer(connection,
                  200,
                  "text/plain; charset=utf-8",
                  fmt::format("Success: LoRA adapter '{}' added successfully.", wanted->name));
}

void unload_adapter(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request) {
  const auto wanted = openai::parse_adapter(request.body);
  if (!wanted) {
    emulator.answer_error(connection, wanted.error());
    return;
  }
  if (wanted->name.empty()) {
    emulator.answer_error(
        connection,
        {.status = 400,
         .type = "InvalidUserInput",
         .message = "'lora_name' needs to be provided to unload a LoRA adapter."});
    return;
  }
  auto& adapters = emulator.adapters();
  if (std::erase(adapters, wanted->name) == 0) {
    emulator.answer_error(
        connection,
        openai::not_found(fmt::format("The lora adapter '{}' cannot be found.", wanted->name)));
    return;
  }
  emulator.answer(connection,
                  200,
                  "text/plain; charset=utf-8",
                  fmt::format("Success: LoRA adapter '{}' removed successfully.", wanted->name));
}

}  // namespace ridgeline::serve
