#pragma once
// headlab list --where.
#include <functional>

#include "experiments/columns.hpp"

namespace headlab {

using Filter = std::function<bool(const Columns&)>;

/// Conditions `COLUMN OP VALUE` joined by `and` and `or`, in any case of letters, of which `and` binds
/// tighter, in parentheses as needed; OP is one of = == != < <= > >=. A value with blanks stands in quotes.
/// Numbers compare as numbers; words of a closed set, lists and ids, of which a beginning is enough, have =
/// and != alone; other texts are in the order of their bytes. A trial without a value fulfils != alone.
/// ConfigError, with the place, for anything else and for a value that the column can never have.
Filter filter(const std::string& expression, const ColumnNames& names);

}  // namespace headlab
