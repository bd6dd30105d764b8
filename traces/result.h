// Result: what a function returns when the world may fail it.
//
// Four kinds of trouble, four answers. The world failed (no file, no PMU, bad
// key): Result<T>. The program is wrong (a broken invariant): CHECK, on in
// release too. Less came than was asked (lost samples, pages that stayed): a
// count in the returned struct. Foreign exceptions: caught at the edge
// (daemon/), never thrown by our own code.
//
// Thread safety: values, as safe as an int.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace thermocline {

// Why something could not be done. The message is one line, lower case, without
// a full stop; it names the thing and, where there is one, the remedy.
struct Error {
  enum class Code {
    kInvalid,      // the caller's input is wrong
    kNotFound,     // no such file, process, name
    kUnsupported,  // this machine or build cannot do it
    kPermission,   // needs a right that the caller lacks
    kIo,           // the operating system failed us
    kCorrupt,      // bytes that are not what they claim to be
    kInterrupted,  // asked to stop
  };
  Code code = Code::kInvalid;
  std::string message;

  /// The same error with one more frame in front: "loading x.json: ...".
  Error within(std::string_view frame) const {
    return {code, std::string(frame) + ": " + message};
  }
};

/// The word for a code in JSON replies: "invalid", "not_found", ...
constexpr const char* code_name(Error::Code code) {
  switch (code) {
    case Error::Code::kInvalid: return "invalid";
    case Error::Code::kNotFound: return "not_found";
    case Error::Code::kUnsupported: return "unsupported";
    case Error::Code::kPermission: return "permission";
    case Error::Code::kIo: return "io";
    case Error::Code::kCorrupt: return "corrupt";
    case Error::Code::kInterrupted: return "interrupted";
  }
  return "unknown";
}

[[noreturn]] inline void check_failed(const char* file, int line,
                                      const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::abort();
}

/// Aborts when an invariant of our own is broken; never for bad input.
#define CHECK(condition)        \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::thermocline::check_failed(__FILE__, __LINE__, #condition))

// A T, or the Error that stands in its place. Member names are those of
// std::expected, which this becomes when the compilers have it.
template <typename T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: by design
  Result() requires std::is_same_v<T, std::monostate>
      : state_(std::monostate{}) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// Requires: has_value().
  T& value() & { return CHECK(has_value()), *std::get_if<0>(&state_); }
  const T& value() const& {
    return CHECK(has_value()), *std::get_if<0>(&state_);
  }
  T&& value() && {
    return CHECK(has_value()), std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Requires: !has_value().
  const Error& error() const {
    return CHECK(!has_value()), *std::get_if<1>(&state_);
  }

  /// Itself, or its error with one more frame of context.
  Result within(std::string_view frame) && {
    if (has_value()) return std::move(*this);
    return error().within(frame);
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<>;

inline Error invalid(std::string message) {
  return {Error::Code::kInvalid, std::move(message)};
}
inline Error not_found(std::string message) {
  return {Error::Code::kNotFound, std::move(message)};
}
inline Error unsupported(std::string message) {
  return {Error::Code::kUnsupported, std::move(message)};
}
inline Error permission(std::string message) {
  return {Error::Code::kPermission, std::move(message)};
}
inline Error io(std::string message) {
  return {Error::Code::kIo, std::move(message)};
}
inline Error corrupt(std::string message) {
  return {Error::Code::kCorrupt, std::move(message)};
}
inline Error interrupted(std::string message) {
  return {Error::Code::kInterrupted, std::move(message)};
}

}  // namespace thermocline
