// The only file that includes Beast. <utility> stands first: Asio 1.74 needs it.
//
// Beast 1.74 asserts that five bytes are there when it looks at a last chunk again
// (basic_parser.ipp, parse_chunk_header). Of a body without others "0\r\n" and one byte more are
// four, and it reads them well: a client whose bytes come one by one would end the server.
#define BOOST_DISABLE_ASSERTS  // NOLINT(readability-identifier-naming): Boost gives the name.
#include "serve/net/http_parser.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "core/text.hpp"

namespace ridgeline::serve::net {
namespace {

namespace http = boost::beast::http;

constexpr int kBadRequest = 400;
constexpr int kTooLarge = 413;
constexpr int kHeadersTooLarge = 431;
/// Bytes of a chunk's line, and of its extensions alone.
constexpr std::size_t kMostChunkLine = 2048;
constexpr std::size_t kMostExtensions = 1024;

std::string_view view_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

struct HttpParser::Parser : http::request_parser<http::string_body> {};

/// Refuses long extensions of chunks.
struct HttpParser::ChunkHook {
  void operator()(std::uint64_t /*size*/,
                  boost::beast::string_view extensions,
                  boost::beast::error_code& code) const {
    if (extensions.size() > kMostExtensions) {
      code = http::error::bad_chunk_extension;
    }
  }
};

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  const auto last = std::find_if(headers.rbegin(), headers.rend(), [&](const auto& header) {
    return header.first == lower_case_name;
  });
  return last == headers.rend() ? std::string_view() : std::string_view(last->second);
}

HttpParser::HttpParser(const HttpLimits& limits)
    : limits_(limits), on_chunk_(std::make_unique<ChunkHook>()) {
  start();
}

HttpParser::~HttpParser() = default;

void HttpParser::start() {
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(limits_.header_bytes);
  parser_->body_limit(limits_.body_bytes);
  parser_->on_chunk_header(*on_chunk_);
  said_continue_ = false;
  head_bytes_ = 0;
}

bool HttpParser::has_header() const {
  return parser_->is_header_done();
}

bool HttpParser::wants_continue() {
  if (said_continue_ || !parser_->is_header_done() || parser_->is_done()) {
    return false;
  }
  said_continue_ = core::lower_case(view_of(parser_->get()[http::field::expect])) == "100-continue";
  return said_continue_;
}

HttpParser::Status HttpParser::feed(std::string_view data, std::size_t& used) {
  used = 0;
  while (used < data.size() && !parser_->is_done()) {
    boost::beast::error_code code;
    const bool is_head = !parser_->is_header_done();
    parser_->eager(!is_head);  // No byte of a body together with the head.
    const std::size_t taken =
        parser_->put(boost::asio::buffer(data.data() + used, data.size() - used), code);
    used += taken;
    // Beast leaves the request line out of its limit where the head comes at once.
    head_bytes_ += is_head ? taken : 0;
    if (head_bytes_ > limits_.header_bytes) {
      error_status_ = kHeadersTooLarge;
      return Status::kBad;
    }
    if (code == http::error::need_more || (!code && taken == 0)) {
      break;
    }
    if (code) {
      error_status_ = code == http::error::body_limit     ? kTooLarge
                      : code == http::error::header_limit ? kHeadersTooLarge
                                                          : kBadRequest;
      return Status::kBad;
    }
  }
  const auto& fields = parser_->get();
  // Behind a coding that is not understood, or a chunk's line without end, no request can be found.
  if (parser_->is_header_done() &&
      ((fields.count(http::field::transfer_encoding) > 0 && !parser_->chunked()) ||
       (!parser_->is_done() && data.size() - used > kMostChunkLine))) {
    error_status_ = kBadRequest;
    return Status::kBad;
  }
  if (!parser_->is_done()) {
    return Status::kMore;
  }
  if (static_cast<std::size_t>(std::distance(fields.begin(), fields.end())) > limits_.headers) {
    error_status_ = kHeadersTooLarge;
    return Status::kBad;
  }
  return Status::kDone;
}

HttpRequest HttpParser::take() {
  auto message = parser_->release();
  HttpRequest request;
  request.method = std::string(view_of(message.method_string()));
  std::string_view target = view_of(message.target());
  // A target in absolute form: scheme and host are passed over.
  if (const std::size_t scheme = target.find("://");
      scheme != std::string_view::npos && !target.starts_with('/')) {
    const std::size_t slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  const std::size_t question = target.find('?');
  request.path = std::string(target.substr(0, question));
  if (question != std::string_view::npos) {
    request.query = std::string(target.substr(question + 1));
  }
  for (const auto& field : message) {
    request.headers.emplace_back(core::lower_case(view_of(field.name_string())),
                                 std::string(view_of(field.value())));
  }
  request.keep_alive = message.keep_alive();
  constexpr unsigned kHttp10 = 10;
  request.is_http_1_0 = message.version() == kHttp10;
  request.body = std::move(message.body());
  start();
  return request;
}

}  // namespace ridgeline::serve::net
