#include "experiments/provenance.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/base/processor.hpp"
#include "core/base/version.hpp"
#include "core/dnn/pins.hpp"

namespace headlab {
namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/=@%+-";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

std::string quoted(const std::vector<std::string>& words) {
  std::vector<std::string> all(words.size());
  std::ranges::transform(words, all.begin(), [](const std::string& word) { return quoted(word); });
  return fmt::format("{}", fmt::join(all, " "));
}

hdf5::Values provenance(const CommandLine& line) {
  const Build b = build();
  const dnn::Settings oneDNN = dnn::settings();
  return {{"version", std::string(b.version)},
          {"commit", std::string(b.commit)},
          {"dirty", b.dirty},
          {"compiler", std::string(b.compiler)},
          {"command_line", "headlab " + quoted(line.words)},
          {"host", host()},
          {"processor", processor_name()},
          {"instruction_set", std::string(to_string(instruction_set()))},
          {"onednn", oneDNN.version},
          {"onednn_instructions", oneDNN.instructions},
          {"onednn_fpmath_mode", oneDNN.fpmath_mode},
          {"hdf5", hdf5::library_version()},
          {"threads", std::int64_t{oneDNN.threads}},
          {"flush_to_zero", oneDNN.flush_to_zero}};
}

}  // namespace headlab
