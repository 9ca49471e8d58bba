#pragma once

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::test {

/// One record 10 % too high, and one that could not be predicted.
inline evidence::validate::Validation small_validation() {
  evidence::validate::Validation validation;
  evidence::validate::ScoredRecord record;
  record.evidence.id = "a<b,c";
  record.evidence.family = "own";
  record.evidence.measured.at(evidence::validate::Figure::kE2e, evidence::validate::Level::kMean) =
      200.0;
  record.prediction.emplace();
  record.prediction->figures.at(evidence::validate::Figure::kE2e,
                                evidence::validate::Level::kMean) = 220.0;
  evidence::validate::PeerPrediction peer{.name = "other", .figures = {}};
  peer.figures.at(evidence::validate::Figure::kE2e, evidence::validate::Level::kMean) = 300.0;
  record.evidence.peers.push_back(peer);
  validation.records.push_back(record);
  evidence::validate::ScoredRecord unknown;
  unknown.evidence.id = "d";
  unknown.standing = evidence::validate::Standing::kUnpredicted;
  unknown.reason = "no such network";
  validation.records.push_back(unknown);
  validation.scores = evidence::validate::score(validation.records);
  validation.peers = evidence::validate::score_peers(validation.records);
  return validation;
}

}  // namespace ridgeline::test
