#include "sim/live/arrival_log.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::live {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class TextFile final : public LogFile {
 public:
  explicit TextFile(std::string& text, bool works = true) : text_(text), works_(works) {}
  bool append(std::string_view text) override {
    text_ += text;
    return works_;
  }
  bool overwrite(std::int64_t at, std::string_view text) override {
    text_.replace(static_cast<std::size_t>(at), text.size(), text);
    return works_;
  }

 private:
  std::string& text_;
  bool works_;
};

domain::Request request_of(std::uint32_t id) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.arrival = core::SimTime::at(core::Duration::milliseconds(1500 + id));
  request.prompt_tokens = core::Tokens(5);
  request.output_tokens = core::Tokens(7);
  request.max_tokens = core::Tokens(7);
  return request;
}

TEST(ArrivalLog, WritesRowsWithRoomForACancellation) {
  std::string text;
  ArrivalLog log(std::make_unique<TextFile>(text));
  log.arrive(request_of(0), "");
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(log.flush());
  EXPECT_THAT(text,
              EndsWith("{\"arrival_s\":1.5,\"input_tokens\":5,\"output_tokens\":7,"
                       "\"abort_s\":                null}\n"));
}

TEST(ArrivalLog, WritesACancellationOverItsRow) {
  std::string text;
  ArrivalLog log(std::make_unique<TextFile>(text));
  log.arrive(request_of(0), "");
  log.flush();
  log.arrive(request_of(1), "");
  const core::SimTime at = core::SimTime::at(core::Duration::seconds(2));
  log.cancel(core::RequestId(1), at);  // Not in the file yet.
  log.flush();
  const std::size_t size = text.size();
  log.cancel(core::RequestId(0), at + core::Duration::ticks(1));
  log.flush();
  EXPECT_EQ(text.size(), size);
  EXPECT_THAT(text,
              HasSubstr("\"arrival_s\":1.5,\"input_tokens\":5,\"output_tokens\":7,"
                        "\"abort_s\":      2.000000000001}"));
  EXPECT_THAT(text, HasSubstr("\"abort_s\":                   2}"));
}

TEST(ArrivalLog, LeavesWhatHasEnded) {
  std::string text;
  ArrivalLog log(std::make_unique<TextFile>(text));
  log.arrive(request_of(0), "");
  log.end(core::RequestId(0));
  log.cancel(core::RequestId(0), core::SimTime::at(core::Duration::seconds(9)));
  log.flush();
  EXPECT_THAT(text, HasSubstr("null"));
}

TEST(ArrivalLog, WritesAllThatARequestIs) {
  std::string text;
  ArrivalLog log(std::make_unique<TextFile>(text));
  domain::Request request = request_of(2);
  request.max_tokens = core::Tokens(16);
  request.priority = -3;
  request.session = core::SessionId(4);
  request.images = 1;
  request.prompt.push_back({12, core::Tokens(3)});
  request.prompt.push_back({domain::output_content(core::RequestId(1)), core::Tokens(2)});
  request.rank = 1;
  log.arrive(request, "an \"adapter\"");
  log.flush();
  EXPECT_THAT(text, HasSubstr("\"limit_tokens\":16"));
  EXPECT_THAT(text,
              HasSubstr("\"priority\":-3,\"session\":4,\"data_parallel_rank\":1,\"images\":1,"
                        "\"adapter\":\"an \\\"adapter\\\"\",\"prompt\":[[12,3],[-2,2]]}"));
}

TEST(ArrivalLog, SaysThatItCannotBeWritten) {
  std::string text;
  ArrivalLog log(std::make_unique<TextFile>(text, false));
  EXPECT_FALSE(log.flush());
  EXPECT_FALSE(log.flush());
}

/// A path in the tests' folder at which nothing is.
std::filesystem::path fresh_path(const char* name) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(path);
  return path;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(OpenLogFile, WritesANewFileAndOneThatIsEmpty) {
  const auto path = fresh_path("arrival_log_test.jsonl");
  for (const char* made : {"by it", "before"}) {
    auto file = open_log_file(path.string());
    ASSERT_TRUE(file.has_value()) << made;
    EXPECT_TRUE((*file)->append("abc"));
    EXPECT_TRUE((*file)->append("def"));
    EXPECT_TRUE((*file)->overwrite(1, "X"));
    file->reset();
    EXPECT_EQ(text_of(path), "aXcdef");
    std::ofstream{path};  // Empties it.
  }
  std::filesystem::remove(path);
}

TEST(OpenLogFile, LeavesAFileThatHoldsSomething) {
  const auto path = fresh_path("arrival_log_full.jsonl");
  const auto link = fresh_path("arrival_log_link.jsonl");
  std::ofstream(path) << "the log of a run before";
  std::filesystem::create_symlink(path, link);
  for (const auto& name : {path, link}) {
    const auto file = open_log_file(name.string());
    ASSERT_FALSE(file.has_value());
    EXPECT_THAT(file.error().front().message, HasSubstr("holds 23 bytes already"));
  }
  EXPECT_EQ(text_of(path), "the log of a run before");
  std::filesystem::remove(link);
  std::filesystem::remove(path);
}

TEST(OpenLogFile, HasOneWriter) {
  const auto path = fresh_path("arrival_log_shared.jsonl");
  auto first = open_log_file(path.string());
  ASSERT_TRUE(first.has_value());
  const auto second = open_log_file(path.string());
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().front().message, HasSubstr("another server"));
  first->reset();
  EXPECT_TRUE(open_log_file(path.string()).has_value());
  std::filesystem::remove(path);
}

TEST(OpenLogFile, CutsWhatDidNotFit) {
  const auto path = fresh_path("arrival_log_cut.jsonl");
  auto file = open_log_file(path.string());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->append("a whole row\n"));
  // A file of at most 16 bytes: 4 of the next row fit.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 16, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool written = (*file)->append("a row that is torn\n");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_FALSE(written);
  EXPECT_THAT((*file)->problem(), HasSubstr("too large"));
  EXPECT_EQ(text_of(path), "a whole row\n");
  std::filesystem::remove(path);
}

TEST(OpenLogFile, RefusesWhatIsNoFile) {
  EXPECT_FALSE(open_log_file("/dev/null").has_value());
  EXPECT_FALSE(open_log_file("/no/such/folder/log").has_value());
}

}  // namespace
}  // namespace ridgeline::live
