#pragma once

#include <memory>

#include "cluster/kv_offload.hpp"
#include "cluster/part.hpp"

namespace ridgeline::test {

/// The part of a cluster that keeps KV in tiers, which `made` then points to.
inline cluster::PartMaker offload_part(const cluster::OffloadOptions& options,
                                       const std::shared_ptr<cluster::KvOffload*>& made) {
  return {.kind = cluster::PartKind::kLinks, .make = [options, made](cluster::Fleet& fleet) {
            auto part = std::make_unique<cluster::KvOffload>(options, fleet);
            *made = part.get();
            return part;
          }};
}

}  // namespace ridgeline::test
