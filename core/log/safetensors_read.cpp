#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/text.hpp"
#include "core/log/safetensors.hpp"
#include "core/log/safetensors_type.hpp"
#include "core/log/sealed_file.hpp"

namespace headlab::safetensors {
namespace {

using nlohmann::json;

constexpr std::size_t longest_header = 100'000'000;  // as in the reference implementation

/// A tensor without its bytes, which lie at begin to end behind the header.
struct Entry {
  std::string name;
  Tensor outline;
  std::size_t begin{}, end{};
};

std::string piece(const InputFile& file, std::size_t from, std::size_t count) {
  std::string bytes = file.bytes(from, count);
  require(bytes.size() == count, "truncated while it is read");
  return bytes;
}

std::size_t header_length(const InputFile& file, std::size_t size) {
  std::uint64_t length = 0;
  require(size >= sizeof length, "truncated: {} bytes", size);
  std::memcpy(&length, piece(file, 0, sizeof length).data(), sizeof length);
  require(length <= longest_header, "not safetensors, or damaged: a header of {} bytes", length);
  require(length <= size - sizeof length, "truncated: a header of {} bytes in a file of {}", length, size);
  return length;
}

/// Refuses what nlohmann's parser lets pass: a name twice in one object; and depth that no header has.
class Names {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    require(depth < 8, "its header is nested too deeply");
    auto& names = by_depth_[depth];
    if (event == json::parse_event_t::object_start) by_depth_[depth + 1].clear();
    if (event == json::parse_event_t::key)
      require(names.insert(parsed.get<std::string>()).second, "{} is there twice",
              visible(parsed.get<std::string>()));
    return true;
  }

 private:
  std::map<int, std::set<std::string>> by_depth_;
};

json parse(const std::string& text) try {
  Names names;
  json header = json::parse(
      text, [&](int depth, json::parse_event_t event, json& parsed) { return names(depth, event, parsed); });
  require(header.is_object(), "its header is not an object");
  return header;
} catch (const json::exception& e) {
  throw ConfigError(fmt::format("its header is not JSON: {}", e.what()));
}

std::map<std::string, std::string> metadata(const json& node) {
  require(node.is_object(), "__metadata__ is not an object");
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : node.items()) {
    require(value.is_string(), "__metadata__: {} is not a text", visible(key));
    all[key] = value.get<std::string>();
  }
  return all;
}

const json& member(const json& node, const char* name) {
  require(node.is_object() && node.contains(name), "has no {}", name);
  return node[name];
}
std::vector<std::size_t> counts(const json& node, const char* name) {
  const json& list = member(node, name);
  const auto is_count = [](const json& x) { return x.is_number_unsigned(); };
  require(list.is_array() && std::ranges::all_of(list, is_count), "{} is not a list of counts", name);
  return list.get<std::vector<std::size_t>>();
}

Entry entry(const std::string& name, const json& node) try {
  const json& type = member(node, "dtype");
  require(type.is_string(), "dtype is not a text");
  Entry e{name, {type.get<std::string>(), counts(node, "shape"), {}}};
  const std::size_t size = size_in_bytes(e.outline.type, e.outline.shape);
  const auto offsets = counts(node, "data_offsets");
  require(offsets.size() == 2 && offsets[0] <= offsets[1], "data_offsets {} are not a beginning and an end",
          offsets);
  require(offsets[1] - offsets[0] == size, "{} {} wants {} bytes, data_offsets {} give {}", e.outline.type,
          e.outline.shape, size, offsets, offsets[1] - offsets[0]);
  e.begin = offsets[0], e.end = offsets[1];
  return e;
} catch (const ConfigError& fault) {
  throw ConfigError(fmt::format("{}: {}", visible(name), fault.what()));
}

/// Tensors must lie one after another and fill the file.
void require_no_gaps(std::vector<Entry>& entries, std::size_t size) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::size_t end = 0;
  for (const Entry& e : entries) {
    require(e.begin >= end, "{}: overlaps the tensor before it ({} < {})", visible(e.name), e.begin, end);
    require(e.begin == end, "{}: {} bytes between it and the tensor before it", visible(e.name),
            e.begin - end);
    end = e.end;
  }
  require(end <= size, "truncated: {} bytes of tensors, the header tells of {}", size, end);
  require(end == size, "{} bytes behind the last tensor", size - end);
}

}  // namespace

File read(const std::filesystem::path& from, const std::function<bool(std::string_view)>& wanted) {
  return reading(from, [&] {
    const InputFile file(from);
    const std::size_t size = file.size(), length = header_length(file, size);
    const std::size_t data = sizeof(std::uint64_t) + length;
    const json header = parse(piece(file, sizeof(std::uint64_t), length));
    File all;
    std::vector<Entry> entries;
    for (const auto& [name, node] : header.items())
      if (name == "__metadata__")
        all.metadata = metadata(node);
      else
        entries.push_back(entry(name, node));
    require_no_gaps(entries, size - data);
    for (Entry& e : entries) {
      if (wanted && !wanted(e.name)) continue;
      e.outline.bytes = piece(file, data + e.begin, e.end - e.begin);
      all.tensors[e.name] = std::move(e.outline);
    }
    return all;
  });
}

}  // namespace headlab::safetensors
