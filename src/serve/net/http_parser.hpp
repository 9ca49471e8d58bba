#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::serve::net {

/// A request as it came over HTTP/1.1.
struct HttpRequest {
  std::string method;
  std::string path;                                          ///< Without the query.
  std::string query;                                         ///< What follows the question mark.
  std::vector<std::pair<std::string, std::string>> headers;  ///< Names in lower case.
  std::string body;
  bool keep_alive = true;
  bool is_http_1_0 = false;

  /// The last value of a header; empty where it has none.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

/// Bounds of a request.
struct HttpLimits {
  std::uint32_t header_bytes = 64 * 1024;
  std::size_t headers = 256;
  std::uint64_t body_bytes = 32ULL * 1024 * 1024;
};

/// Parses one request after the other out of bytes, strictly: both Content-Length and
/// Transfer-Encoding, bare line feeds and control bytes are refused.
class HttpParser {
 public:
  enum class Status : std::uint8_t { kMore, kDone, kBad };

  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  /// Takes bytes from the front of `data`, and says how many in `used`; what is left belongs to the
  /// next request, or comes again with more behind it.
  Status feed(std::string_view data, std::size_t& used);
  /// After kDone: the request. The next one begins.
  [[nodiscard]] HttpRequest take();
  /// After kBad: the status to answer with.
  [[nodiscard]] int error_status() const { return error_status_; }
  /// Whether the header is there and says that the client waits for 100 Continue. Once.
  [[nodiscard]] bool wants_continue();
  [[nodiscard]] bool has_header() const;

 private:
  struct Parser;
  struct ChunkHook;
  void start();

  HttpLimits limits_;
  std::unique_ptr<ChunkHook> on_chunk_;
  std::unique_ptr<Parser> parser_;
  int error_status_ = 400;
  bool said_continue_ = false;
  std::size_t head_bytes_ = 0;
};

}  // namespace ridgeline::serve::net
