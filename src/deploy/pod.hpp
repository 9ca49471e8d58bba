#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"

/// Pieces of Kubernetes objects that several targets share.
namespace ridgeline::deploy {

/// Where a server listens.
inline constexpr std::int64_t kPort = 8000;

/// The text as Kubernetes and Compose read it, which put variables in place of $(NAME) and ${NAME}:
/// a dollar is written twice.
[[nodiscard]] std::string with_dollars(std::string_view text);
/// A flag as one word of a list, its dollars written twice: "--max-num-seqs=256".
[[nodiscard]] std::string flag_item(const Flag& flag);
[[nodiscard]] std::vector<std::string> flag_items(const Role& role);

/// HF_TOKEN from the Secret hf-token, if there is one, and the role's variables.
[[nodiscard]] document::Node environment_node(const Role& role);
/// Requests and limits of so many GPUs.
[[nodiscard]] document::Node gpus_node(std::int64_t gpus);
/// A probe of /health that asks every `period` seconds and gives up after `failures`.
[[nodiscard]] document::Node probe_node(std::int64_t port,
                                        std::int64_t period,
                                        std::int64_t failures);
/// A network of 70 billion parameters takes minutes to load, a compiled one minutes more: half an
/// hour before a pod that does not answer is started again.
[[nodiscard]] document::Node startup_probe_node(std::int64_t port);
/// /dev/shm of a size that NCCL's buffers fit into, as a mount and as a volume.
[[nodiscard]] document::Node memory_mount_node();
[[nodiscard]] document::Node memory_volume_node();
/// nodeSelector of nodes with the GPU; null where its label is not known.
[[nodiscard]] document::Node selector_node(const Layout& layout);
/// The flags of a P/D server beside its engine's: how KV gets away.
[[nodiscard]] Flag transfer_flag();

}  // namespace ridgeline::deploy
