#include <algorithm>
#include <cstring>

#include "core/log/hdf5.hpp"

namespace headlab::hdf5 {
namespace {

bool identical(const Data& a, const Data& b) {
  if (a.index() != b.index() || size(a) != size(b)) return false;
  return std::visit(
      [&]<class T>(const std::vector<T>& v) {
        const auto& w = std::get<std::vector<T>>(b);
        if constexpr (std::is_same_v<T, std::string>)
          return v == w;
        else
          return v.empty() || std::memcmp(v.data(), w.data(), v.size() * sizeof(T)) == 0;
      },
      a);
}

void append(std::string& to, const std::string& text) { to.append(text).push_back('\0'); }
template <class T>
  requires std::is_arithmetic_v<T>
void append(std::string& to, T x) {
  to.append(reinterpret_cast<const char*>(&x), sizeof x);
}
template <class T>
void append(std::string& to, const std::vector<T>& v) {
  append(to, v.size());
  if constexpr (std::is_arithmetic_v<T>)
    to.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T));
  else
    for (const T& x : v) append(to, x);
}
void append(std::string& to, const Values& values) {
  for (const auto& [key, value] : values) {
    append(to, key);
    append(to, value.index());
    std::visit([&](const auto& v) { append(to, v); }, value);
  }
}

/// How many bytes the UTF-8 character at i has; 0 if there is none.
std::size_t character(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned first = byte(i), second = byte(i + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  if (first == 0 || overlong || outside) return 0;
  std::size_t n = 0;
  if (first < 0x80) n = 1;
  if (first >= 0xC2 && first < 0xF5) n = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t k = 1; k < n; ++k)
    if (byte(i + k) >> 6 != 2) return 0;
  return n;
}

}  // namespace

std::size_t size(const Data& data) {
  return std::visit([](const auto& v) { return v.size(); }, data);
}

const Variable* File::find(std::string_view name) const {
  const auto v = std::ranges::find(variables, name, &Variable::name);
  return v == variables.end() ? nullptr : &*v;
}

bool identical(const Variable& a, const Variable& b) {
  return identical(a.data, b.data) && a.dimensions == b.dimensions && a.attributes == b.attributes;
}

bool identical(const File& a, const File& b) {
  const auto stored = [](const Variable& v) { return size(v.data) > 0; };
  const auto elsewhere = [&](const Variable& v) {
    const Variable* w = b.find(v.name);
    return !stored(v) || (w != nullptr && identical(v, *w));
  };
  return a.attributes == b.attributes && a.groups == b.groups &&
         std::ranges::count_if(a.variables, stored) == std::ranges::count_if(b.variables, stored) &&
         std::ranges::all_of(a.variables, elsewhere);
}

std::size_t hash(const File& file) {
  std::string bytes;
  append(bytes, file.attributes);
  std::size_t sum = std::hash<std::string>()(bytes);
  for (const auto& [name, values] : file.groups) {
    append(bytes = name, values);
    sum += std::hash<std::string>()(bytes);
  }
  for (const Variable& v : file.variables) {
    if (size(v.data) == 0) continue;
    append(bytes = v.name, v.dimensions);
    append(bytes, v.attributes);
    std::visit([&](const auto& data) { append(bytes, data); }, v.data);
    sum += std::hash<std::string>()(bytes);
  }
  return sum;
}

std::string readable(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = character(text, i);
    if (n == 0) text[i] = '?';
    i += n == 0 ? 1 : n;
  }
  return text;
}

}  // namespace headlab::hdf5
