#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace ridgeline::openai {

/// Has the kernel note when bytes arrive at a TCP socket, or at those that it will accept: a
/// process that is woken late knows by that when they came.
inline void note_arrivals(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
}

/// recv(), and how long ago the newest of those bytes arrived: zero where the kernel has not noted
/// it.
struct Received {
  ssize_t bytes = 0;
  std::chrono::nanoseconds age{};
};
inline Received receive(int socket, char* buffer, std::size_t size, int flags) {
  /// An older stamp is from before the machine's time was set, and ignored.
  constexpr std::chrono::seconds kOldest{10};
  iovec part{.iov_base = buffer, .iov_len = size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(timespec))> notes{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = notes.data();
  message.msg_controllen = notes.size();
  Received received{.bytes = ::recvmsg(socket, &message, flags), .age = {}};
  const cmsghdr* const note = received.bytes > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (note == nullptr || note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS) {
    return received;
  }
  timespec stamp{};
  timespec now{};
  std::memcpy(&stamp, CMSG_DATA(note), sizeof stamp);
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto age = std::chrono::seconds(now.tv_sec - stamp.tv_sec) +
                   std::chrono::nanoseconds(now.tv_nsec - stamp.tv_nsec);
  received.age = age > std::chrono::nanoseconds() && age < kOldest ? age : received.age;
  return received;
}

}  // namespace ridgeline::openai
