#pragma once
// What hdf5_write.cpp and hdf5_read.cpp share. All calls exist in HDF5 1.10 and 1.14 under one name.
#include <hdf5.h>

#include <utility>

#include "core/log/hdf5.hpp"

namespace headlab::hdf5 {

[[noreturn]] void fail();
template <class T>
T checked(T status) {
  if (status < 0) fail();
  return status;
}

/// Owns any HDF5 object.
class Handle {
 public:
  explicit Handle(hid_t id) : id_(checked(id)) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept { return std::swap(id_, other.id_), *this; }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT(*-explicit-*)

 private:
  hid_t id_;
};

/// One more owner of an object, for example of a predefined type.
inline Handle shared(hid_t id) {
  checked(H5Iinc_ref(id));
  return Handle(id);
}

template <class T>
Handle type_of() {
  if constexpr (std::is_same_v<T, std::int8_t>) return shared(H5T_NATIVE_INT8);
  if constexpr (std::is_same_v<T, std::int32_t>) return shared(H5T_NATIVE_INT32);
  if constexpr (std::is_same_v<T, std::int64_t>) return shared(H5T_NATIVE_INT64);
  if constexpr (std::is_same_v<T, float>) return shared(H5T_NATIVE_FLOAT);
  if constexpr (std::is_same_v<T, double>) return shared(H5T_NATIVE_DOUBLE);
  Handle text(H5Tcopy(H5T_C_S1));
  checked(H5Tset_size(text, H5T_VARIABLE));
  checked(H5Tset_cset(text, H5T_CSET_UTF8));
  return text;
}

/// The core driver without a file behind it. The oldest format that holds what we write, whatever the
/// library's default.
Handle in_memory();

/// One file after another on the disk, without locks, which some file systems do not have.
Handle on_disk();

/// `count` rows from `first` on of a data space, selected; and a space of their shape.
struct Slab {
  Slab(Handle space, std::size_t first, std::size_t count);
  Handle file, memory;
};

}  // namespace headlab::hdf5
