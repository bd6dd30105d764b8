#include "policies/external_words.h"

#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kDeepest = 8;

bool same(const ObjectView& a, const ObjectView& b) {
  return a.bytes == b.bytes && a.tier == b.tier && a.loads == b.loads &&
         a.stores == b.stores && a.movable == b.movable && a.waited == b.waited;
}

json tiers_json(const View& view) {
  json out = json::array();
  for (const TierView& tier : view.tiers) {
    out.push_back({{"capacity_bytes", tier.capacity},
                   {"used_bytes", tier.used},
                   {"read_ns", tier.read_ns},
                   {"write_ns", tier.write_ns},
                   {"read_bytes_per_s", tier.read_bytes_per_s},
                   {"write_bytes_per_s", tier.write_bytes_per_s}});
  }
  return out;
}

// A whole number of at least 0, or kInvalid.
Result<std::uint64_t> whole(const json& from, const char* key) {
  const auto at = from.find(key);
  if (at == from.end()) return invalid(std::string("no \"") + key + "\"");
  if (!at->is_number_unsigned()) {
    return invalid(std::string("\"") + key + "\" is no whole number");
  }
  return at->get<std::uint64_t>();
}

Status only(const json& from, std::initializer_list<const char*> keys) {
  if (!from.is_object()) return invalid("not a JSON object");
  for (const auto& [key, unused] : from.items()) {
    bool known = false;
    for (const char* one : keys) known = known || key == one;
    if (!known) return invalid("unknown key");
  }
  return {};
}

Result<Wish> read_wish(const json& from) {
  if (auto known = only(from, {"object", "from", "to"}); !known) {
    return known.error();
  }
  Wish wish;
  const auto object = whole(from, "object");
  if (!object) return object.error();
  wish.object = *object;
  const auto to = whole(from, "to");
  if (!to) return to.error();
  wish.to = *to;
  if (!from.contains("from")) return wish;
  const auto tier = whole(from, "from");
  if (!tier) return tier.error();
  wish.from =
      static_cast<std::int64_t>(std::min<std::uint64_t>(*tier, kNoTier));
  return wish;
}

Result<json> parse(std::string_view text) {
  bool too_deep = false;
  const auto shallow = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kDeepest;
    return depth <= kDeepest;
  };
  auto out = json::parse(text, shallow, /*allow_exceptions=*/false);
  if (too_deep) return invalid("nested too deeply");
  if (out.is_discarded()) return invalid("not JSON");
  return out;
}

}  // namespace

std::string RequestWriter::write(const View& view) {
  const bool full = told_.empty();
  const std::size_t count = view.objects.size();
  const std::size_t known = told_.size();
  told_.resize(count);
  for (std::size_t i = known; i < count; ++i) {
    told_[i] = {
        .id = static_cast<ObjectId>(i), .tier = kNoTier, .movable = false};
  }
  json objects = json::array();
  for (std::size_t i = 0; i < count && objects.size() < most_; ++i) {
    next_ = next_ < count ? next_ : 0;
    const ObjectView& now = view.objects[next_];
    ObjectView& then = told_[next_++];
    if (same(now, then)) continue;
    then = now;
    objects.push_back({{"id", now.id},
                       {"bytes", now.bytes},
                       {"tier", now.tier},
                       {"loads", now.loads},
                       {"stores", now.stores},
                       {"movable", now.movable}});
    told_waits_ = told_waits_ || now.waited > 0;
    if (told_waits_) objects.back()["waited_cycles"] = now.waited;
  }
  const json out = {
      {"v", kExternalVersion},        {"op", "decide"},
      {"session", session_},          {"seq", ++sequence_},
      {"window", view.window},        {"window_ns", view.window_ns},
      {"budget_bytes", view.budget},  {"full", full},
      {"object_count", count},        {"tiers", tiers_json(view)},
      {"objects", std::move(objects)}};
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<Wish>> read_reply(std::string_view text,
                                     std::uint64_t sequence) {
  if (text.size() > kLargestReply) {
    return invalid("the reply has " + std::to_string(text.size()) +
                   " bytes, at most " + std::to_string(kLargestReply));
  }
  const auto reply = parse(text);
  if (!reply) return reply.error();
  if (auto known = only(*reply, {"v", "seq", "moves"}); !known) {
    return known.error();
  }
  const auto version = whole(*reply, "v");
  if (!version) return version.error();
  if (*version != kExternalVersion) {
    return invalid("version " + std::to_string(*version) + ", not " +
                   std::to_string(kExternalVersion));
  }
  const auto to = whole(*reply, "seq");
  if (!to) return to.error();
  if (*to != sequence) {
    return invalid("it answers request " + std::to_string(*to) + ", not " +
                   std::to_string(sequence));
  }
  const auto moves = reply->find("moves");
  if (moves == reply->end() || !moves->is_array()) {
    return invalid("no list \"moves\"");
  }
  std::vector<Wish> out;
  for (const json& one : *moves) {
    const auto wish = read_wish(one);
    if (!wish) return wish.error().within("a move");
    out.push_back(*wish);
  }
  return out;
}

}  // namespace thermocline
