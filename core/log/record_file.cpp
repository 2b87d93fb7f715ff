#include "core/log/record_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>

#include "core/log/atomic_file.hpp"
#include "core/log/elsewhere.hpp"
#include "core/log/results_collection.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

bool is_results(const hdf5::Values& attributes) {
  const auto format = attributes.find("format");
  return format != attributes.end() && format->second == hdf5::Value(results_format.name);
}

/// A results.h5 of what is headlab's in a file. All of it is in memory.
std::string cleaned(const path& from, std::string_view bytes) try {
  Collection all({.kept = 0});
  hdf5::File file = hdf5::from_image(bytes);
  return reading(from, [&] {
    if (is_results(file.attributes)) {
      take_format(from, results_format, file);
      const Rows rows(file);
      all.open(from, [&](std::size_t row) { return rows[row]; });
      for (std::size_t i = 0; i < rows.size(); ++i) all.add(rows[i], i);
      return all.image({}, "");
    }
    take_format(from, trial_format, file);
    TrialRecord trial = from_file(std::move(file));
    all.open(from, [copy = trial](std::size_t) { return copy; });
    all.add(trial);
    return all.image({}, "");
  });
} catch (const hdf5::Error& e) {
  throw DamagedError(fmt::format("{}: {}", from.native(), e.what()));
}

/// A block of rows of a results.h5 at a time.
class Window {
 public:
  Window(InputFile file, std::size_t block)
      : file_(std::move(file)), block_(block), reader_(file_.descriptor()) {
    hdf5::File root{reader_.attributes(), {}};
    take_format(file_.path(), results_format, root);
    size_ = reading(file_.path(), [&] {
      const hdf5::Variable* id = reader_.outline().find("id");
      return id == nullptr ? 0 : id->shape.at(0);
    });
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::size_t size() const { return size_; }
  std::vector<std::string> ids() {
    return reading(file_.path(), [&] { return reader_.texts("id"); });
  }
  TrialRecord operator[](std::size_t row) try {
    return reading(file_.path(), [&] {
      if (row >= size_) throw std::out_of_range("row");
      if (!rows_ || row / block_ != number_) {
        rows_.reset();
        number_ = row / block_;
        some_ = reader_.rows(number_ * block_, std::min(block_, size_ - number_ * block_));
        rows_.emplace(some_);
      }
      return (*rows_)[row % block_];
    });
  } catch (const hdf5::Error& e) {
    throw DamagedError(fmt::format("{}: {}", file_.path().native(), e.what()));
  }

 private:
  InputFile file_;
  std::size_t block_, size_ = 0, number_ = 0;
  hdf5::RowReader reader_;
  hdf5::File some_;
  std::optional<Rows> rows_;
};

RecordFile windows(InputFile file, std::size_t block) {
  const auto window = std::make_shared<Window>(std::move(file), block);
  return {true, window->size(), [window](std::size_t row) { return (*window)[row]; },
          [window] { return window->ids(); }};
}

/// A file of these bytes, which goes with the function that reads it.
RecordFile windows(std::string_view bytes, std::size_t block) {
  std::string name = std::filesystem::temp_directory_path() / "headlab.XXXXXX";
  const int made = ::mkstemp(name.data());
  if (made < 0) throw std::system_error(errno, std::generic_category(), name);
  ::close(made);
  const std::shared_ptr<void> removal(nullptr, [&](void*) { ::unlink(name.c_str()); });
  replace(name, bytes);
  return windows(InputFile(name), block);
}

TrialRecord read_loose(const path& from) try { return read_trial(from); } catch (const std::system_error& e) {
  throw DamagedError(e.what());
}

/// What f makes of the file, once it has a seal; anew if another took its place before HDF5 opened it.
template <class F>
auto sealed(const path& from, const F& f) {
  constexpr int most_tries = 10;
  for (int tries = 1;; ++tries) {
    InputFile file(from);
    require_seal(file);
    const InputFile same = file.again();
    try {
      return f(std::move(file));
    } catch (const hdf5::Error& e) {
      if (!same.is_gone() || tries == most_tries)
        throw DamagedError(fmt::format("{}: {}", from.native(), e.what()));
    }
  }
}

bool ends_in_seal(const path& from) {
  constexpr std::size_t longest = 128;
  const InputFile file(from);
  const std::size_t size = file.size(), n = std::min(size, longest);
  return has_seal(file.bytes(size - n, n));
}

}  // namespace

RecordFile open_results(const path& from, std::size_t block) {
  return sealed(from, [&](InputFile file) { return windows(std::move(file), block); });
}

RecordFile open_records(const path& from, Seal seal, std::size_t block) try {
  if (seal == Seal::may_be_missing && !ends_in_seal(from)) {
    RecordFile all = windows(elsewhere(from, [&] { return cleaned(from, read_bytes(from)); }), block);
    all.sealed = false;
    return all;
  }
  return sealed(from, [&](InputFile file) -> RecordFile {
    if (is_results(hdf5::RowReader(file.descriptor()).attributes())) return windows(std::move(file), block);
    return {true, 1, [from](std::size_t) { return read_loose(from); }, {}};
  });
} catch (const std::system_error& e) {
  throw DamagedError(e.what());
}

}  // namespace headlab
