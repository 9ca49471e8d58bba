#include "lab/program/study_ledger.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::laboratory {
namespace {

TEST(StudyLedger, KnowsTheDocuments) {
  EXPECT_EQ(ledger_documents(),
            (std::vector<std::string>{"003", "000", "001", "002", "004", "questions"}));
}

}  // namespace
}  // namespace ridgeline::laboratory
