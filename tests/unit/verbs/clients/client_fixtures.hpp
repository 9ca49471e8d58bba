#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs::fixtures {

/// Two requests: last tokens after 1 s and 1 s, closed 3 s later, first tokens after 0.25 s and 1
/// s, 4 and 1 tokens. Steps end each 0.25 s from 2.25 s on.
inline ClientResults two_requests() {
  ClientResults results;
  domain::StepRecord steps;
  steps.steps = 8;
  steps.start = core::SimTime::at(core::Duration::seconds(2));
  steps.period = core::Duration::milliseconds(250);
  results.on_steps(steps);
  domain::RequestRecord record;
  record.outcome = domain::Outcome::kFinished;
  record.prompt_tokens = core::Tokens(100);
  record.output_tokens = core::Tokens(4);
  record.arrival = core::SimTime::at(core::Duration::seconds(2));
  record.first_token = record.arrival + core::Duration::milliseconds(250);
  record.last_token = record.arrival + core::Duration::seconds(1);
  metrics::RequestMetrics metrics;
  metrics.ttft = core::Duration::milliseconds(250);
  metrics.e2e = core::Duration::seconds(4);
  metrics.tpot = core::Duration::milliseconds(1250);
  metrics.mean_gap = core::Duration::milliseconds(250);
  results.on_request(record, metrics);
  record.output_tokens = core::Tokens(1);
  record.first_token = record.last_token;
  metrics.ttft = core::Duration::seconds(1);
  metrics.tpot.reset();
  metrics.mean_gap.reset();
  results.on_request(record, metrics);
  record.outcome = domain::Outcome::kRejected;
  results.on_request(record, {});
  return results;
}

inline document::Node rendered(const char* client,
                               const RunResult& result,
                               const ClientResults& results) {
  const std::string text = (*find_client_format(client))->render(result, results);
  return document::parse_json(text, client).value();
}

inline double number_at(const document::Node& tree, const std::vector<std::string>& path) {
  const document::Node* node = &tree;
  for (const std::string& key : path) {
    node = key == "0" ? &node->items().at(0) : node->find(key);
    if (node == nullptr) {
      ADD_FAILURE() << "no " << key;
      return 0.0;
    }
  }
  return node->as_real();
}

}  // namespace ridgeline::verbs::fixtures
