#include "observe/http_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/system_library.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "observe/run_clock.hpp"
#include "observe/target.hpp"
#include "openai/arrival_time.hpp"

namespace ridgeline::observe {
namespace {

/// Servers close connections that wait: uvicorn, which vLLM uses, after 5 s.
constexpr long kLongestIdleSeconds = 4;
constexpr long kConnectSeconds = 10;
/// Bytes of all lines of an answer's heads and trailers.
constexpr std::size_t kMostHeaderBytes = std::size_t{256} << 10U;
/// Bytes that libcurl reads at once (CURL_MAX_WRITE_SIZE).
constexpr std::size_t kReadTogether = 16'384;
constexpr std::int64_t kTicksPerNanosecond = 1000;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

/// libcurl, loaded where a server is measured: linked, with the 30 libraries that it needs it would
/// make every start of the program some ten times slower.
struct Curl {
  core::SystemLibrary library{"libcurl.so.4", "libcurl4", "measuring a server needs"};
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&curl_multi_setopt) multi_setopt = nullptr;
  decltype(&curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&curl_multi_info_read) multi_info_read = nullptr;
  decltype(&curl_multi_assign) multi_assign = nullptr;
  decltype(&curl_multi_strerror) multi_strerror = nullptr;
};

Curl load() {
  Curl curl;
  curl.library.find("curl_global_init", curl.global_init);
  curl.library.find("curl_easy_init", curl.easy_init);
  curl.library.find("curl_easy_cleanup", curl.easy_cleanup);
  curl.library.find("curl_easy_reset", curl.easy_reset);
  curl.library.find("curl_easy_setopt", curl.easy_setopt);
  curl.library.find("curl_easy_getinfo", curl.easy_getinfo);
  curl.library.find("curl_easy_strerror", curl.easy_strerror);
  curl.library.find("curl_slist_append", curl.slist_append);
  curl.library.find("curl_slist_free_all", curl.slist_free_all);
  curl.library.find("curl_multi_init", curl.multi_init);
  curl.library.find("curl_multi_cleanup", curl.multi_cleanup);
  curl.library.find("curl_multi_add_handle", curl.multi_add_handle);
  curl.library.find("curl_multi_remove_handle", curl.multi_remove_handle);
  curl.library.find("curl_multi_setopt", curl.multi_setopt);
  curl.library.find("curl_multi_socket_action", curl.multi_socket_action);
  curl.library.find("curl_multi_info_read", curl.multi_info_read);
  curl.library.find("curl_multi_assign", curl.multi_assign);
  curl.library.find("curl_multi_strerror", curl.multi_strerror);
  if (curl.library.check() && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    curl.library.refuse("libcurl.so.4 does not start");
  }
  return curl;
}

/// Never unloaded.
const Curl& curl() {
  static const Curl kLoaded = load();
  return kLoaded;
}

struct EasyCloser {
  void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
};
struct ListCloser {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyCloser>;
using List = std::unique_ptr<curl_slist, ListCloser>;

void append(List& list, const std::string& line) {
  list.reset(curl().slist_append(list.release(), line.c_str()));
}

core::Duration microseconds_of(CURL* easy, CURLINFO what) {
  curl_off_t us = 0;
  curl().easy_getinfo(easy, what, &us);
  return core::Duration::microseconds(std::max<curl_off_t>(us, 0));
}

}  // namespace

/// libcurl's multi interface over an own epoll: it waits in milliseconds, we in nanoseconds.
class HttpClient::Engine {
 public:
  Engine(Options options, const RunClock& clock)
      : options_(std::move(options)),
        clock_(clock),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
        wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        multi_(curl().multi_init()) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  ~Engine() {
    for (auto& transfer : transfers_) {
      if (transfer->is_running) {
        curl().multi_remove_handle(multi_, transfer->easy.get());
      }
    }
    transfers_.clear();
    curl().multi_cleanup(multi_);
    for (const int descriptor : {epoll_, timer_, wake_up_}) {
      if (descriptor >= 0) {
        close(descriptor);
      }
    }
  }

  core::Result<void> open() {
    if (epoll_ < 0 || timer_ < 0 || wake_up_ < 0 || multi_ == nullptr) {
      return core::fail(core::Error{.message = "no file descriptor is left for the HTTP client",
                                    .hint = "ulimit -n"});
    }
    // The kernel may else put off a wake-up by 50 us.
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (const int own : {timer_, wake_up_}) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = own;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, own, &event);
    }
    curl().multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Engine::on_socket);
    curl().multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl().multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Engine::on_timer);
    curl().multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl().multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    append(headers_, "Expect:");  // Else a long body waits for leave to be sent.
    if (!options_.api_key.empty()) {
      append(headers_, "Authorization: Bearer " + options_.api_key);
    }
    append(body_headers_, "Content-Type: application/json");
    for (const curl_slist* line = headers_.get(); line != nullptr; line = line->next) {
      append(body_headers_, line->data);
    }
    const Target& target = options_.target;
    if (target.socket.empty()) {
      const bool is_v6 = options_.address.find(':') != std::string::npos;
      append(pinned_,
             fmt::format("{}:{}:{}",
                         target.host,
                         target.port,
                         is_v6 ? "[" + options_.address + "]" : options_.address));
    }
    base_url_ = target.base_url();
    return {};
  }

  void start(HttpRequest request, HttpExchange& exchange) {
    Transfer& transfer = idle_transfer();
    transfer.request = std::move(request);
    transfer.exchange = &exchange;
    transfer.is_running = true;
    transfer.sends = 0;
    transfer.header_bytes = 0;
    transfer.error[0] = '\0';
    set_up(transfer);
    ++running_;
    const CURLMcode added = curl().multi_add_handle(multi_, transfer.easy.get());
    RIDGELINE_CHECK(added == CURLM_OK, curl().multi_strerror(added));
    act(CURL_SOCKET_TIMEOUT, 0);
  }

  void run(core::SimTime until) {
    if (report_ended()) {
      return;
    }
    set_timer(std::min(until, curl_due_));
    constexpr int kEventsTogether = 256;
    std::array<epoll_event, kEventsTogether> events;
    const int count = epoll_wait(epoll_, events.data(), kEventsTogether, -1);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == timer_ || event.data.fd == wake_up_) {
        std::uint64_t count_of_them = 0;
        static_cast<void>(!read(event.data.fd, &count_of_them, sizeof count_of_them));
        timer_set_ = event.data.fd == timer_ ? core::SimTime::never() : timer_set_;
        continue;
      }
      const std::uint32_t ready = event.events;
      act(event.data.fd,
          ((ready & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
              ((ready & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
              ((ready & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0));
    }
    if (clock_.now() >= curl_due_) {
      curl_due_ = core::SimTime::never();
      act(CURL_SOCKET_TIMEOUT, 0);
    }
    static_cast<void>(report_ended());
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_up_, &one, sizeof one));
  }

 private:
  struct Transfer {
    Engine* engine = nullptr;
    Easy easy;
    HttpRequest request;
    HttpExchange* exchange = nullptr;
    bool is_running = false;
    int sends = 0;
    std::size_t header_bytes = 0;  ///< Bytes of all heads and trailers of its answer.
    std::array<char, CURL_ERROR_SIZE> error{};
  };

  Transfer& idle_transfer() {
    if (idle_.empty()) {
      transfers_.push_back(std::make_unique<Transfer>());
      transfers_.back()->engine = this;
      transfers_.back()->easy.reset(curl().easy_init());
      idle_.push_back(transfers_.back().get());
    }
    Transfer* const transfer = idle_.back();
    idle_.pop_back();
    return *transfer;
  }

  void set_up(Transfer& transfer) {
    CURL* const easy = transfer.easy.get();
    curl().easy_reset(easy);
    const auto set = [&](CURLoption option, auto value) {
      const CURLcode done = curl().easy_setopt(easy, option, value);
      RIDGELINE_CHECK(done == CURLE_OK, curl().easy_strerror(done));
    };
    set(CURLOPT_URL, (base_url_ + transfer.request.path).c_str());
    set(CURLOPT_PRIVATE, static_cast<void*>(&transfer));
    set(CURLOPT_ERRORBUFFER, transfer.error.data());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");  // Over what the environment says.
    set(CURLOPT_USERAGENT, "ridgeline");
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_MAXAGE_CONN, kLongestIdleSeconds);
    set(CURLOPT_SOCKOPTFUNCTION, &Engine::on_open);
    set(CURLOPT_WRITEFUNCTION, &Engine::on_bytes);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
    set(CURLOPT_HEADERFUNCTION, &Engine::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
    set(CURLOPT_PREREQFUNCTION, &Engine::on_send);
    set(CURLOPT_PREREQDATA, static_cast<void*>(&transfer));
    if (options_.target.socket.empty()) {
      set(CURLOPT_RESOLVE, pinned_.get());
    } else {
      set(CURLOPT_UNIX_SOCKET_PATH, options_.target.socket.c_str());
    }
    if (options_.fresh_connections) {
      set(CURLOPT_FRESH_CONNECT, 1L);
      set(CURLOPT_FORBID_REUSE, 1L);
    }
    if (transfer.request.timeout > core::Duration()) {
      set(CURLOPT_TIMEOUT_MS, static_cast<long>(transfer.request.timeout.to_milliseconds()));
    }
    const bool has_body = !transfer.request.body.empty();
    set(CURLOPT_HTTPHEADER, has_body ? body_headers_.get() : headers_.get());
    if (has_body) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.request.body.size()));
      set(CURLOPT_POSTFIELDS, transfer.request.body.c_str());
    }
  }

  /// Lets libcurl work on one socket, or on what is due.
  void act(curl_socket_t socket, int ready) {
    // What is read from here on came when the kernel got it: one read of a socket a call.
    read_at_ = clock_.now();
    if ((ready & CURL_CSELECT_IN) != 0 && options_.target.socket.empty()) {
      // With MSG_TRUNC, TCP copies nothing.
      const openai::Received waiting =
          openai::receive(socket, look_.data(), look_.size(), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
      read_at_ = core::SimTime::at(std::max(
          read_at_.since_start() - core::Duration::ticks(waiting.age.count() * kTicksPerNanosecond),
          core::Duration()));
    }
    int running = 0;
    curl().multi_socket_action(multi_, socket, ready, &running);
    if (running < running_) {
      gather_ended();
    }
  }

  void gather_ended() {
    int left = 0;
    while (const CURLMsg* message = curl().multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) {
        continue;
      }
      CURL* const easy = message->easy_handle;
      const CURLcode result = message->data.result;
      Transfer* transfer = nullptr;
      curl().easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
      ended_.emplace_back(transfer, end_of(*transfer, result));
      curl().multi_remove_handle(multi_, easy);
      transfer->is_running = false;
      --running_;
    }
  }

  /// Whether there were any. An exchange may start others, which may end at once.
  [[nodiscard]] bool report_ended() {
    const auto ended = std::exchange(ended_, {});
    for (const auto& [transfer, end] : ended) {
      HttpExchange* const exchange = std::exchange(transfer->exchange, nullptr);
      idle_.push_back(transfer);
      exchange->on_end(end);
    }
    return !ended.empty();
  }

  [[nodiscard]] HttpEnd end_of(const Transfer& transfer, CURLcode result) const {
    CURL* const easy = transfer.easy.get();
    HttpEnd end{.at = read_at_};
    long status = 0;
    curl().easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    end.status = static_cast<int>(status);
    long connects = 0;
    curl().easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connects);
    if (connects > 0) {
      end.connect = std::max(microseconds_of(easy, CURLINFO_CONNECT_TIME_T),
                             microseconds_of(easy, CURLINFO_APPCONNECT_TIME_T));
    }
    end.never_sent = transfer.sends == 0;
    if (transfer.header_bytes > kMostHeaderBytes) {
      end.problem = fmt::format("headers of more than {} bytes", kMostHeaderBytes);
    } else if (result != CURLE_OK) {
      end.problem =
          transfer.error[0] != '\0' ? transfer.error.data() : curl().easy_strerror(result);
      long os_error = 0;
      curl().easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
      if (end.never_sent && os_error != 0) {
        end.problem += ": " + core::system_message(static_cast<int>(os_error));
      }
    }
    return end;
  }

  void set_timer(core::SimTime time) {
    if (time == timer_set_ && time > clock_.now()) {
      return;
    }
    timer_set_ = time;
    itimerspec when{};
    if (time != core::SimTime::never()) {
      const std::int64_t ns = clock_.monotonic_ns(time);
      when.it_value.tv_sec = ns / kNanosecondsPerSecond;
      when.it_value.tv_nsec = ns % kNanosecondsPerSecond;
    }
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* user, void* known) {
    static_cast<void>(easy);
    auto& engine = *static_cast<Engine*>(user);
    epoll_event event{};
    event.data.fd = socket;
    event.events = ((what & CURL_POLL_IN) != 0 ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
                   ((what & CURL_POLL_OUT) != 0 ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(engine.epoll_, EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    const int operation = known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(engine.epoll_, operation, socket, &event) != 0 && errno == EEXIST) {
      epoll_ctl(engine.epoll_, EPOLL_CTL_MOD, socket, &event);
    }
    curl().multi_assign(engine.multi_, socket, &engine);  // From now on it is known.
    return 0;
  }

  static int on_open(void* user, curl_socket_t socket, curlsocktype purpose) {
    static_cast<void>(user);
    static_cast<void>(purpose);
    openai::note_arrivals(socket);
    return CURL_SOCKOPT_OK;
  }

  static int on_timer(CURLM* multi, long ms, void* user) {
    static_cast<void>(multi);
    auto& engine = *static_cast<Engine*>(user);
    engine.curl_due_ =
        ms < 0 ? core::SimTime::never() : engine.clock_.now() + core::Duration::milliseconds(ms);
    return 0;
  }

  static int on_send(void* user, char* their_ip, char* our_ip, int their_port, int our_port) {
    static_cast<void>(their_ip);
    static_cast<void>(our_ip);
    static_cast<void>(their_port);
    static_cast<void>(our_port);
    auto& transfer = *static_cast<Transfer*>(user);
    ++transfer.sends;
    // An answer may be read in this same call of libcurl: it came after its request.
    transfer.engine->read_at_ = transfer.engine->clock_.now();
    transfer.exchange->on_send(transfer.engine->read_at_);
    return CURL_PREREQFUNC_OK;
  }

  /// A line of a head or of a trailer. libcurl itself counts those of one head.
  static std::size_t on_header(char* line, std::size_t one, std::size_t size, void* user) {
    static_cast<void>(line);
    static_cast<void>(one);
    auto& transfer = *static_cast<Transfer*>(user);
    transfer.header_bytes += size;
    return transfer.header_bytes > kMostHeaderBytes ? size + 1 : size;
  }

  static std::size_t on_bytes(char* bytes, std::size_t one, std::size_t size, void* user) {
    static_cast<void>(one);
    auto& transfer = *static_cast<Transfer*>(user);
    long status = 0;
    char* type = nullptr;
    curl().easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    curl().easy_getinfo(transfer.easy.get(), CURLINFO_CONTENT_TYPE, &type);
    const bool goes_on = transfer.exchange->on_bytes(static_cast<int>(status),
                                                     type == nullptr ? "" : type,
                                                     std::string_view(bytes, size),
                                                     transfer.engine->read_at_);
    // Any other number than that of the bytes ends the transfer.
    return goes_on ? size : size + 1;
  }

  Options options_;
  const RunClock& clock_;
  int epoll_;
  int timer_;
  int wake_up_;  ///< An event of another thread's.
  CURLM* multi_;
  std::string base_url_;
  List headers_;
  List body_headers_;
  List pinned_;
  core::SimTime curl_due_ = core::SimTime::never();
  core::SimTime timer_set_ = core::SimTime::never();
  core::SimTime read_at_;
  std::array<char, kReadTogether> look_{};
  int running_ = 0;  ///< Until libcurl is done with them.
  std::vector<std::pair<Transfer*, HttpEnd>> ended_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<Transfer*> idle_;
};

HttpClient::HttpClient(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
HttpClient::~HttpClient() = default;

core::Result<std::unique_ptr<HttpClient>> HttpClient::make(Options options, const RunClock& clock) {
  if (const auto usable = curl().library.check(); !usable) {
    return core::fail(usable.error());
  }
  auto engine = std::make_unique<Engine>(std::move(options), clock);
  if (const auto opened = engine->open(); !opened) {
    return core::fail(opened.error());
  }
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(engine)));
}

void HttpClient::start(HttpRequest request, HttpExchange& exchange) {
  engine_->start(std::move(request), exchange);
}

void HttpClient::run(core::SimTime until) {
  engine_->run(until);
}

void HttpClient::wake() {
  engine_->wake();
}

namespace {

class WholeAnswer final : public HttpExchange {
 public:
  explicit WholeAnswer(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void on_send(core::SimTime now) override { static_cast<void>(now); }
  bool on_bytes(int status,
                std::string_view content_type,
                std::string_view bytes,
                core::SimTime read) override {
    static_cast<void>(status);
    static_cast<void>(content_type);
    static_cast<void>(read);
    is_long_ = answer_.body.size() + bytes.size() > most_bytes_;
    if (!is_long_) {
      answer_.body += bytes;
    }
    return !is_long_;
  }
  void on_end(const HttpEnd& end) override {
    answer_.status = end.status;
    answer_.problem =
        is_long_ ? fmt::format("an answer of more than {} bytes", most_bytes_) : end.problem;
    ended_ = true;
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] HttpAnswer take() { return std::move(answer_); }

 private:
  std::size_t most_bytes_;
  HttpAnswer answer_;
  bool is_long_ = false;
  bool ended_ = false;
};

}  // namespace

HttpAnswer ask(HttpClient& client,
               const RunClock& clock,
               HttpRequest request,
               std::size_t most_bytes) {
  WholeAnswer answer(most_bytes);
  client.start(std::move(request), answer);
  while (!answer.ended()) {
    client.run(clock.now() + core::Duration::milliseconds(100));
  }
  return answer.take();
}

}  // namespace ridgeline::observe
