#include "tracer/import_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace thermocline {
namespace {

using nlohmann::json;

// The input's bytes for the parser, one by one; ends early when told to stop.
class Bytewise {
 public:
  explicit Bytewise(ImportInput& in) : in_(in) { more(); }

  bool at_end() const { return at_ == end_; }
  char get() const { return static_cast<char>(*at_); }
  void advance() {
    ++at_;
    ++offset_;
    if (++since_ > JsonLimits::kText) {
      fail(corrupt("offset " + std::to_string(offset_) + ": one element of " +
                   "more than " + std::to_string(JsonLimits::kText) +
                   " bytes"));
    } else if (at_ == end_) {
      more();
    }
  }
  /// An element ends here.
  void mark() { since_ = 0; }
  Bytes offset() const { return offset_; }
  void fail(Error why) {
    if (status_) status_ = std::move(why);
    at_ = end_ = nullptr;
  }
  const Status& status() const { return status_; }

 private:
  void more() {
    const auto bytes = in_.next();
    if (!bytes) return fail(bytes.error());
    at_ = bytes->data();
    end_ = at_ + bytes->size();
  }

  ImportInput& in_;
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  Bytes offset_ = 0;
  Bytes since_ = 0;
  Status status_;
};

// What nlohmann's parser wants of an input: a single-pass iterator.
struct BytewiseIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  char operator*() const { return from->get(); }
  BytewiseIterator& operator++() {
    from->advance();
    return *this;
  }
  bool operator==(const BytewiseIterator& other) const {
    return ended() == other.ended();
  }
  bool operator!=(const BytewiseIterator& other) const {
    return !(*this == other);
  }
  bool ended() const { return from == nullptr || from->at_end(); }

  Bytewise* from = nullptr;
};

// Follows the document. Its spine (the objects and lists down to the list) is
// walked; every value beside it is built as a whole.
class Reader {
 public:
  Reader(Bytewise& from, const JsonUse& use) : from_(from), use_(use) {}

  bool null() { return value(json()); }
  bool boolean(bool what) { return value(json(what)); }
  bool number_integer(json::number_integer_t what) { return value(json(what)); }
  bool number_unsigned(json::number_unsigned_t what) {
    return value(json(what));
  }
  bool number_float(json::number_float_t what, const std::string&) {
    return value(json(what));
  }
  bool string(json::string_t& what) { return value(json(std::move(what))); }
  bool binary(json::binary_t&) { return false; }  // not in text
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(json::string_t& name) {
    (built_.empty() ? spine_key_ : built_key_) = std::move(name);
    return count();
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception&) {
    const bool cut = from_.at_end();
    from_.fail(corrupt("offset " + std::to_string(from_.offset()) +
                       (cut ? ": the JSON is cut; copy or record it again"
                            : ": not JSON; check its name, or --format")));
    return false;
  }

 private:
  enum class Spine { kObject, kArray, kList };

  bool fail(const std::string& why) {
    from_.fail(
        corrupt("offset " + std::to_string(from_.offset()) + ": " + why));
    return false;
  }
  bool count() {
    if (++values_ <= JsonLimits::kValues) return true;
    return fail("one element of more than " +
                std::to_string(JsonLimits::kValues) + " values");
  }
  // Where the value that comes belongs to the spine, its part; else nothing.
  std::optional<Spine> on_spine(bool array) const {
    if (!built_.empty()) return {};
    if (spine_.empty()) return array ? Spine::kArray : Spine::kObject;
    if (spine_.back() == Spine::kArray && !array) return Spine::kObject;
    if (spine_.back() == Spine::kObject && array && spine_key_ == use_.list) {
      return Spine::kList;
    }
    return {};
  }

  bool open(json what) {
    if (spine_.size() + built_.size() >= JsonLimits::kDepth) {
      return fail("nested more than " + std::to_string(JsonLimits::kDepth) +
                  " deep");
    }
    if (const auto part = on_spine(what.is_array())) {
      spine_.push_back(*part);
      return true;
    }
    if (!count()) return false;
    if (built_.empty()) {
      root_ = std::move(what);
      built_.push_back(&root_);
    } else {
      built_.push_back(put(std::move(what)));
    }
    return true;
  }
  bool close() {
    if (built_.empty()) {
      spine_.pop_back();
      return true;
    }
    built_.pop_back();
    return !built_.empty() || show(root_);
  }
  bool value(json what) {
    if (!count()) return false;
    if (built_.empty()) return show(what);
    put(std::move(what));
    return true;
  }
  json* put(json what) {
    json& parent = *built_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(what));
      return &parent.back();
    }
    return &(parent[built_key_] = std::move(what));
  }
  // A whole value beside the spine.
  bool show(json& what) {
    Status status;
    if (!spine_.empty() && spine_.back() == Spine::kList) {
      status = use_.element(what);
    } else if (!spine_.empty() && spine_.back() == Spine::kObject) {
      status = use_.member(spine_key_, what);
    }
    values_ = 0;
    from_.mark();
    if (status) return true;
    from_.fail(
        status.error().within("offset " + std::to_string(from_.offset())));
    return false;
  }

  Bytewise& from_;
  const JsonUse& use_;
  std::vector<Spine> spine_;
  std::string spine_key_;
  json root_;
  std::vector<json*> built_;  // from the root to where values go
  std::string built_key_;
  std::size_t values_ = 0;
};

}  // namespace

Status read_json_list(ImportInput& in, const JsonUse& use) {
  Bytewise bytes(in);
  Reader reader(bytes, use);
  const bool good =
      json::sax_parse(BytewiseIterator{&bytes}, BytewiseIterator{}, &reader);
  if (!bytes.status()) return bytes.status();
  CHECK(good);
  return {};
}

const json& member_of(const json& object, const char* name) {
  static const json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

}  // namespace thermocline
