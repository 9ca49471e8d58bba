#include "verbs/measured_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "verbs/request.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;

Node text(const std::string& word) {
  return Node::string(word, {.file = "command line"});
}

core::Result<MeasuredJob> job_of(const std::vector<std::string>& files,
                                 const std::string& histories,
                                 const std::string& threads) {
  std::vector<Node> paths;
  for (const std::string& file : files) {
    paths.push_back(text(file));
  }
  Request request({{.key = "histories", .value = text(histories), .where = {}},
                   {.key = "threads", .value = text(threads), .where = {}},
                   {.key = "files", .value = Node::list(std::move(paths), {}), .where = {}}},
                  Request::Stated{.overrides = {{.path = "set", .text = "model.x=1"}}});
  return take_measured(request);
}

TEST(MeasuredFiles, ReadsRecordsAndWhatIfs) {
  const auto path = std::filesystem::path(testing::TempDir()) / "odd.jsonl";
  std::ofstream(path) << "{\"id\": \"a\"}\n";
  const auto job = job_of({path.string()}, "5", "1");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->evidence.size(), 1U);
  EXPECT_EQ(job->options.histories, 5);
  EXPECT_EQ(job->options.threads, 1);
  ASSERT_EQ(job->options.overrides.size(), 1U);
  EXPECT_EQ(job->options.overrides[0].path, "set");
}

TEST(MeasuredFiles, NotesEveryProblem) {
  const auto job = job_of({"no/such/file"}, "0", "many");
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(job.error().size(), 3U);
  EXPECT_FALSE(job_of({}, "1", "1").has_value());
}

}  // namespace
}  // namespace ridgeline::verbs
