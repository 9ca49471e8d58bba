#pragma once

#include <cstdint>
#include <memory>

#include "workload/item_stream.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// Whether some item carries a label, a priority or media.
enum class Carries : std::uint8_t { kNothing, kSomething };

/// Whether some client may cancel a request.
enum class Patience : std::uint8_t { kEndless, kLimited };

/// A stream as the engine takes it. A streamed file that is flat costs no more than its reading;
/// where its items carry something, that is numbered and counted.
[[nodiscard]] std::unique_ptr<Source> make_replay(std::unique_ptr<ItemStream> stream,
                                                  Carries carries = Carries::kSomething,
                                                  Patience patience = Patience::kLimited);

/// The stream as it comes when every answer takes no time: flat, in order of sending, each item
/// with its arrival. What formats that only know arrivals can hold.
[[nodiscard]] std::unique_ptr<ItemStream> flattened(std::unique_ptr<ItemStream> stream);

}  // namespace ridgeline::workload
