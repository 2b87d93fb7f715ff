#include "experiments/filter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace headlab {
namespace {

constexpr std::array<std::string_view, 7> operators{
    "!=", "<=", ">=", "==", "=", "<", ">"};  // longer ones first
constexpr std::string_view blanks = " \t\n", quotes = "\"'", signs = "!=<>()", word_ends = " \t\n!=<>()";

template <class T>
bool compare(const T& a, std::string_view op, const T& b) {
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  return a == b;
}

/// Of a value that is there, as text.
using Test = std::function<bool(const std::string&)>;

Test number_test(std::string_view op, std::string_view value) {
  const auto b = read_real(value);
  require(b.has_value(), "{} is not a number", visible(value));
  return [=, b = *b](const std::string& text) {
    const auto a = read_real(text);
    return a && compare(*a, op, b);
  };
}

Test text_test(std::string_view op, std::string_view value) {
  return [op, b = std::string(value)](const std::string& a) { return compare(a, op, b); };
}

Test word_test(std::string_view op, std::string_view value, const std::vector<std::string>& words) {
  const std::vector<std::string_view> all(words.begin(), words.end());
  require(std::ranges::count(all, value) > 0, "{} is not one of {}{}", visible(value), fmt::join(words, ", "),
          hint(value, all));
  return text_test(op, value);
}

Test list_test(std::string_view op, std::string_view value) {
  std::vector<double> list;
  require(read(value, Range(), list), "{} is not a list of numbers", visible(value));
  return text_test(op, text(Value(list)));
}

Test id_test(std::string_view op, std::string_view value) {
  constexpr std::size_t digits = 16;
  const bool is_hex = value.find_first_not_of("0123456789abcdef") == value.npos;
  require(is_hex && !value.empty() && value.size() <= digits,
          "{} is no beginning of an id of {} digits 0 to f", visible(value), digits);
  return [=, b = std::string(value)](const std::string& a) { return a.starts_with(b) == (op != "!="); };
}

Test test_of(const ColumnKind& kind, std::string_view op, std::string_view value) {
  const bool ordered = kind.type == ColumnKind::number || kind.type == ColumnKind::text;
  require(ordered || op == "!=" || op.starts_with('='), "has no order for {}, = and != alone", op);
  switch (kind.type) {
    case ColumnKind::number:
      return number_test(op, value);
    case ColumnKind::word:
      return word_test(op, value, kind.words);
    case ColumnKind::list:
      return list_test(op, value);
    case ColumnKind::id:
      return id_test(op, value);
    case ColumnKind::text:
      break;
  }
  return text_test(op, value);
}

/// Recursive descent, one token ahead.
class Parser {
 public:
  Parser(std::string_view text, const ColumnNames& names) : text_(text), names_(names) { advance(); }

  Filter whole() {
    Filter all = any();
    if (token_.begin < text_.size()) fail("and, or or the end");
    return all;
  }

 private:
  struct Token {
    std::string_view text{};
    std::size_t begin = 0;
    bool quoted = false;
  };

  void advance() {
    Token t;
    t.begin = std::min(text_.find_first_not_of(blanks, next_), text_.size());
    const std::string_view rest = text_.substr(t.begin);
    const auto op = std::ranges::find_if(operators, [&](std::string_view o) { return rest.starts_with(o); });
    if (rest.empty())
      next_ = text_.size();
    else if (op != operators.end())
      t.text = *op, next_ = t.begin + op->size();
    else if (quotes.find(rest[0]) != quotes.npos)
      read_quoted(t, rest);
    else
      t.text = rest.substr(0, std::max<std::size_t>(1, rest.find_first_of(word_ends))),
      next_ = t.begin + t.text.size();
    token_ = t;
  }
  void read_quoted(Token& t, std::string_view rest) {
    const auto end = rest.find(rest[0], 1);
    if (end == rest.npos) fault(t.begin, fmt::format("{} has no end", rest));
    t.text = rest.substr(1, end - 1);
    t.quoted = true;
    next_ = t.begin + end + 1;
  }

  [[noreturn]] static void fault(std::size_t at, const std::string& what) {
    throw ConfigError(fmt::format("--where: character {}: {}", at + 1, what));
  }
  [[noreturn]] void fail(std::string_view wanted) const {
    const bool ends = token_.begin == text_.size();
    fault(token_.begin,
          fmt::format("{} must stand here, not {}", wanted, ends ? "the end" : visible(token_.text)));
  }
  /// Whether the token is this word or sign, which is then taken.
  bool take(std::string_view word) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    if (token_.quoted || !std::ranges::equal(token_.text, word, same)) return false;
    advance();
    return true;
  }
  bool at_sign() const { return !token_.quoted && signs.find(token_.text[0]) != signs.npos; }
  /// The token, which is no sign.
  Token word(std::string_view wanted) {
    if (token_.begin == text_.size() || (!token_.quoted && at_sign())) fail(wanted);
    const Token t = token_;
    advance();
    return t;
  }

  template <class F>
  static auto at(const Token& token, const F& f) try {
    return f();
  } catch (const ConfigError& e) {
    fault(token.begin, e.what());
  }

  Filter any() {
    Filter left = every();
    while (take("or"))
      left = [left, right = every()](const Columns& trial) { return left(trial) || right(trial); };
    return left;
  }
  Filter every() {
    Filter left = one();
    while (take("and"))
      left = [left, right = one()](const Columns& trial) { return left(trial) && right(trial); };
    return left;
  }
  Filter one() {
    if (!take("(")) return condition();
    Filter inner = any();
    if (!take(")")) fail("and, or or )");
    return inner;
  }
  Filter condition() {
    const Token name = word("a column");
    const std::string column = at(name, [&] { return names_(name.text); });
    const Token op = token_;
    if (op.quoted || std::ranges::count(operators, op.text) == 0) fail("one of = != < <= > >=");
    advance();
    const Token value = word("a value");
    const Test test = at(value, [&] {
      try {
        return test_of(names_.kind(column), op.text, value.text);
      } catch (const ConfigError& e) {
        throw ConfigError(fmt::format("{}: {}", column, e.what()));
      }
    });
    return [column, test, otherwise = op.text == "!="](const Columns& trial) {
      const auto found = trial.find(column);
      return found == trial.end() ? otherwise : test(text(found->second));
    };
  }
  std::string_view text_;
  const ColumnNames& names_;
  std::size_t next_ = 0;  ///< behind the token
  Token token_;
};

}  // namespace

Filter filter(const std::string& expression, const ColumnNames& names) {
  return Parser(expression, names).whole();
}

}  // namespace headlab
