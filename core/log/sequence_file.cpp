#include "core/log/sequence_file.hpp"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/base/faults.hpp"
#include "core/base/text.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/elsewhere.hpp"
#include "core/log/sealed_file.hpp"

namespace headlab {
namespace {

using std::filesystem::path;
using Shape = std::vector<std::size_t>;

constexpr std::int64_t most_kinds = 1 << 24, most_parts = 3;

/// What is in a user's file, and all that is wrong with it.
class Checked {
 public:
  Checked(path from, hdf5::File file) : from_(std::move(from)), file_(std::move(file)) {}

  /// The datasets as int32. ConfigError with all faults.
  hdf5::File datasets() {
    const Shape shape = shape_of("tokens", "(sequences, tokens)", [](const Shape& s) {
      return s.size() == 2 && s[0] > 0 && s[1] > 0 && std::cmp_less_equal(s[1], most_kinds);
    });
    if (!shape.empty()) {
      const Shape one{shape[0]};
      const auto fits = [&](const Shape& s) { return s == one || s == shape; };
      shape_of("labels", fmt::format("({}) or ({}), as tokens", shape[0], fmt::join(shape, ", ")), fits);
      if (file_.find("split"))
        shape_of("split", fmt::format("({}), as tokens", shape[0]), [&](const Shape& s) { return s == one; });
    }
    add_integers("tokens", most_kinds);
    add_integers("labels", most_kinds);
    add_integers("split", most_parts);
    faults_.raise();
    return std::move(found_);
  }

 private:
  void fault(const char* name, const std::string& what) {
    faults_.add(fmt::format("{}: {}: {}", visible(from_.native()), name, what));
  }
  /// Empty, with a fault, if it is not there or does not fit.
  template <class Fits>
  Shape shape_of(const char* name, const std::string& wanted, const Fits& fits) {
    const hdf5::Variable* v = file_.find(name);
    if (!v)
      fault(name, "must be there, a dataset of shape " + wanted);
    else if (!fits(v->shape))
      fault(name, fmt::format("must have the shape {}, has ({})", wanted, fmt::join(v->shape, ", ")));
    return v && fits(v->shape) ? v->shape : Shape();
  }
  /// 0 .. kinds - 1.
  void add_integers(const char* name, std::int64_t kinds) {
    const hdf5::Variable* v = file_.find(name);
    if (!v) return;
    const std::size_t elements =
        std::accumulate(v->shape.begin(), v->shape.end(), std::size_t{1}, std::multiplies<>());
    std::visit(
        [&]<class T>(const std::vector<T>& all) {
          constexpr bool integers = std::is_integral_v<T>;
          if (!integers || all.size() != elements) return fault(name, "must hold integers");
          if constexpr (integers) add(name, kinds, all, v->shape);
        },
        v->data);
  }
  template <class T>
  void add(const char* name, std::int64_t kinds, const std::vector<T>& all, const Shape& shape) {
    const auto wrong =
        std::ranges::find_if(all, [&](T x) { return x < 0 || std::cmp_greater_equal(x, kinds); });
    if (wrong != all.end())
      fault(name, fmt::format("must be in 0 .. {}, holds {} in row {}", kinds - 1, *wrong,
                              static_cast<std::size_t>(wrong - all.begin()) / (all.size() / shape[0])));
    else
      found_.variables.push_back(
          {name, {}, std::vector<std::int32_t>(all.begin(), all.end()), {}, shape, false, false});
  }

  path from_;
  hdf5::File file_, found_;
  Faults faults_;
};

/// The datasets that count, in an image of our own. Errors of HDF5 name the file.
std::string image_of(const path& from, std::string_view bytes) try {
  const auto counts = [](std::string_view name) {
    return name == "tokens" || name == "labels" || name == "split";
  };
  return hdf5::to_image(Checked(from, hdf5::from_image(bytes, counts, hdf5::Detail::values)).datasets());
} catch (const hdf5::Error& e) {
  throw DamagedError(
      fmt::format("{}: not an HDF5 file that can be read: {}", visible(from.native()), e.what()));
}

std::vector<std::int32_t> taken(hdf5::File& file, std::string_view name) {
  for (hdf5::Variable& v : file.variables)
    if (v.name == name) return std::get<std::vector<std::int32_t>>(std::move(v.data));
  return {};
}

/// Of every ten rows eight, one and one.
std::int32_t part_of(std::size_t row) {
  constexpr std::size_t of = 10, first_held_back = 8;
  return static_cast<std::int32_t>(std::max(row % of, first_held_back - 1) - (first_held_back - 1));
}

std::int64_t kinds(const std::vector<std::int32_t>& all) {
  return std::max<std::int64_t>(2, std::int64_t{1} + *std::ranges::max_element(all));
}

SequenceTable table_in(const path& from, hdf5::File file) {
  SequenceTable t;
  t.length = static_cast<std::int64_t>(file.find("tokens")->shape.at(1));
  t.tokens = taken(file, "tokens");
  t.labels = taken(file, "labels");
  t.vocabulary = kinds(t.tokens);
  t.classes = kinds(t.labels);
  const std::vector<std::int32_t> split = taken(file, "split");
  const std::size_t count = t.tokens.size() / static_cast<std::size_t>(t.length);
  for (std::size_t row = 0; row < count; ++row)
    t.parts.at(static_cast<std::size_t>(split.empty() ? part_of(row) : split[row]))
        .push_back(static_cast<std::int64_t>(row));
  require(!t.parts[0].empty(), "{}: split: must have rows of training, which are 0", visible(from.native()));
  return t;
}

SequenceTable read_sequences(const path& from) try {
  const std::string bytes = read_bytes(from);
  SequenceTable t = table_in(from, hdf5::from_image(elsewhere(from, [&] { return image_of(from, bytes); })));
  t.sha256 = sha256(bytes);
  return t;
} catch (const DamagedError& e) {
  throw ConfigError(e.what());
} catch (const std::system_error& e) {
  throw ConfigError(e.what());
}

/// What tells whether a file is still what it was.
using Stamp = std::tuple<std::string, dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

Stamp stamp_of(const std::string& file) {
  struct stat s{};
  const bool is_file = ::stat(file.c_str(), &s) == 0 && S_ISREG(s.st_mode);
  require(is_file, "{}: not a file that can be read", visible(file));
  return {file, s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

}  // namespace

ReadTable sequence_files() {
  const auto known = std::make_shared<std::map<Stamp, std::shared_ptr<const SequenceTable>>>();
  return [known](const std::string& file) {
    const Stamp stamp = stamp_of(file);
    auto& table = (*known)[stamp];
    if (!table) table = std::make_shared<const SequenceTable>(read_sequences(file));
    return table;
  };
}

}  // namespace headlab
