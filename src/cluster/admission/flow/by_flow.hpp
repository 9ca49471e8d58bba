#pragma once

#include <cstddef>
#include <vector>

#include "domain/tenants.hpp"

namespace ridgeline::admission {

/// One value per flow, made at the first look.
template <class Value>
class ByFlow {
 public:
  Value& operator[](domain::TenantId flow) {
    if (flow.value() >= values_.size()) {
      values_.resize(flow.value() + std::size_t{1});
    }
    return values_[flow.value()];
  }

 private:
  std::vector<Value> values_;
};

}  // namespace ridgeline::admission
