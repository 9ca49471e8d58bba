#pragma once

#include "sim/validate/evidence.hpp"
#include "sim/validate/scores.hpp"
#include "sim/validate/validate.hpp"

namespace ridgeline::test {

/// One record 10 % too high, and one that could not be predicted.
inline sim::validate::Validation small_validation() {
  sim::validate::Validation validation;
  sim::validate::ScoredRecord record;
  record.evidence.id = "a<b,c";
  record.evidence.family = "own";
  record.evidence.measured.at(sim::validate::Figure::kE2e, sim::validate::Level::kMean) = 200.0;
  record.prediction.emplace();
  record.prediction->figures.at(sim::validate::Figure::kE2e, sim::validate::Level::kMean) = 220.0;
  sim::validate::PeerPrediction peer{.name = "other", .figures = {}};
  peer.figures.at(sim::validate::Figure::kE2e, sim::validate::Level::kMean) = 300.0;
  record.evidence.peers.push_back(peer);
  validation.records.push_back(record);
  sim::validate::ScoredRecord unknown;
  unknown.evidence.id = "d";
  unknown.standing = sim::validate::Standing::kUnpredicted;
  unknown.reason = "no such network";
  validation.records.push_back(unknown);
  validation.scores = sim::validate::score(validation.records);
  validation.peers = sim::validate::score_peers(validation.records);
  return validation;
}

}  // namespace ridgeline::test
