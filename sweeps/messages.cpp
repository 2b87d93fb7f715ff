#include "sweeps/messages.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

namespace headlab {
namespace {

using Json = nlohmann::json;
using Length = std::uint32_t;

std::string packed(const Json& message) {
  std::string frame;
  Json::to_cbor(message, frame);
  return frame;
}

/// What f makes of the frame's content.
template <class F>
auto unpacked(std::string_view frame, const F& f) try {
  return f(Json::from_cbor(frame));
} catch (const Json::exception& e) {
  throw std::invalid_argument(std::string("[messages] a frame must hold a message: ") + e.what());
}

Json json_of(const hdf5::Values& values) {
  Json all = Json::object();
  for (const auto& [name, value] : values)
    all[name] = std::visit([](const auto& v) { return Json(v); }, value);
  return all;
}

hdf5::Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return json.get<std::vector<double>>();
}

Json json_of(const std::vector<std::filesystem::path>& paths) {
  Json all = Json::array();
  for (const auto& path : paths) all.push_back(path.native());
  return all;
}
std::vector<std::filesystem::path> paths_of(const Json& json) {
  std::vector<std::filesystem::path> all;
  for (const auto& path : json) all.emplace_back(path.get<std::string>());
  return all;
}

/// Until all bytes have come; false if the other end has gone.
bool read_all(int descriptor, char* to, std::size_t n) {
  while (n > 0) {
    const ssize_t got = ::recv(descriptor, to, n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ECONNRESET)
      throw std::system_error(errno, std::generic_category(), "a worker's socket");
    if (got <= 0) return false;
    to += got;
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Channel::Channel(int descriptor) : descriptor_(descriptor) { ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC); }
Channel::~Channel() { ::close(descriptor_); }

bool Channel::send(std::string_view content) const {
  const auto length = static_cast<Length>(content.size());
  std::string frame(sizeof length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  frame += content;
  for (std::string_view rest = frame; !rest.empty();) {
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::optional<std::string> Channel::receive() const {
  std::array<char, sizeof(Length)> head{};
  if (!read_all(descriptor_, head.data(), head.size())) return {};
  Length length = 0;
  std::memcpy(&length, head.data(), sizeof length);
  std::string frame(length, '\0');
  if (!read_all(descriptor_, frame.data(), length)) return {};
  return frame;
}

bool Channel::has_frame() const {
  pollfd one{descriptor_, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

void raise(int error, const std::string& fault) {
  if (error != 0) throw std::system_error(error, std::generic_category(), fault);
  if (!fault.empty()) throw DamagedError(fault);
}

std::string encoded(const Greeting& g) {
  return packed(
      {{"supervisor", g.supervisor}, {"folder", g.folder.native()}, {"provenance", json_of(g.provenance)}});
}
std::string encoded(const Assignment& a) {
  return packed({{"id", a.id}, {"configuration", a.configuration}});
}
std::string encoded(const Report& r) {
  return packed({{"id", r.id},
                 {"status", to_string(r.status)},
                 {"message", r.message},
                 {"seconds", r.seconds},
                 {"seconds_writing", r.seconds_writing},
                 {"error", r.error},
                 {"fault", r.fault}});
}

std::string encoded(const Folding& f) {
  return packed({{"results", f.results.native()},
                 {"files", json_of(f.files)},
                 {"specification", f.specification},
                 {"plan", f.plan},
                 {"seconds_writing", f.seconds_writing}});
}
std::string encoded(const FoldReport& r) {
  return packed({{"safe", json_of(r.folded.safe)},
                 {"damaged", r.folded.damaged},
                 {"error", r.error},
                 {"fault", r.fault}});
}

bool is_folding(std::string_view frame) {
  return unpacked(frame, [](const Json& from) { return from.contains("files"); });
}
Folding folding_in(std::string_view frame) {
  return unpacked(frame, [](const Json& from) {
    return Folding{from.at("results").get<std::string>(), paths_of(from.at("files")),
                   from.at("specification"), from.at("plan"), from.at("seconds_writing")};
  });
}
FoldReport fold_report_in(std::string_view frame) {
  return unpacked(frame, [](const Json& from) {
    return FoldReport{{paths_of(from.at("safe")), from.at("damaged")}, from.at("error"), from.at("fault")};
  });
}

Greeting greeting_in(std::string_view frame) {
  return unpacked(frame, [](const Json& from) {
    Greeting g{from.at("supervisor"), from.at("folder").get<std::string>(), {}};
    for (const auto& [name, value] : from.at("provenance").items()) g.provenance[name] = value_of(value);
    return g;
  });
}
Assignment assignment_in(std::string_view frame) {
  return unpacked(frame,
                  [](const Json& from) { return Assignment{from.at("id"), from.at("configuration")}; });
}
Report report_in(std::string_view frame) {
  return unpacked(frame, [](const Json& from) {
    return Report{.id = from.at("id"),
                  .status = status_of(from.at("status").get<std::string>()),
                  .message = from.at("message"),
                  .seconds = from.at("seconds"),
                  .seconds_writing = from.at("seconds_writing"),
                  .error = from.at("error"),
                  .fault = from.at("fault")};
  });
}

}  // namespace headlab
