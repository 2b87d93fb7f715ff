#include "core/log/hdf5_handle.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlab::hdf5 {

void fail() {
  std::vector<std::string> reasons;
  const auto add = [](unsigned, const H5E_error2_t* e, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->push_back(fmt::format("{}: {}", e->func_name, e->desc));
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, add, &reasons);
  throw Error(fmt::format("HDF5: {}", fmt::join(reasons, " < ")));
}

Handle in_memory() {
  checked(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr));
  Handle access(H5Pcreate(H5P_FILE_ACCESS));
  checked(H5Pset_fapl_core(access, 1 << 16, false));
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST));
  return access;
}

Handle on_disk() {
  checked(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr));
  Handle access(H5Pcreate(H5P_FILE_ACCESS));
  checked(H5Pset_file_locking(access, false, true));
  return access;
}

namespace {

std::vector<hsize_t> lengths_of(const Handle& space) {
  std::vector<hsize_t> lengths(static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space))));
  checked(H5Sget_simple_extent_dims(space, lengths.data(), nullptr));
  return lengths;
}
Handle selection(const Handle& space, std::size_t first, std::size_t count) {
  std::vector<hsize_t> lengths = lengths_of(space), start(lengths.size(), 0);
  start.at(0) = first;
  lengths[0] = count;
  checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, lengths.data(), nullptr));
  return Handle(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr));
}

}  // namespace

Slab::Slab(Handle space, std::size_t first, std::size_t count)
    : file(std::move(space)), memory(selection(file, first, count)) {}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  checked(H5get_libversion(&major, &minor, &release));
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace headlab::hdf5
