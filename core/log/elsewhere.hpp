#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace headlab {

/// What `work` makes of a file whose bytes may be damaged, in a child process, since HDF5 may crash on them.
/// DamagedError with what `work` throws, or with the path if the child ends otherwise or takes more
/// processor time than 10 s and 4 s a megabyte.
std::string elsewhere(const std::filesystem::path& from, const std::function<std::string()>& work);

}  // namespace headlab
