#include "core/fault_scope.hpp"

namespace ridgeline::core {
namespace {

int& depth() {
  thread_local int scopes = 0;
  return scopes;
}

}  // namespace

FaultScope::FaultScope() {
  ++depth();
}

FaultScope::~FaultScope() {
  --depth();
}

bool FaultScope::active() {
  return depth() > 0;
}

}  // namespace ridgeline::core
