// deeptm: after DeepTM (Zhou and others, IEEE TPDS 2024).
//
// From the paper's abstract: tensors' heat is recognised by four
// characteristics whose weights are adjusted as the job runs; whether a tensor
// stays or moves is decided one by one; what moves is moved in runs of
// neighbours. (Aggregation, which makes neighbours alike, happens in the job:
// tracer/aggregation.h.) The text is closed, so all else is our choice:
// - The characteristics and what they foretell: tensor_traits.h for a job whose
//   step is known, adaptive_heat.h for one that is watched.
// - A job that repeats gets a plan (stay_schedule.h): uses of tensors are made
//   fast in the order of their heat, each weighed against the copies that it
//   takes; copies run beside operators. Weights are adjusted from one replayed
//   step to the next (stay_search.h).
// - Without one, window by window: the hottest per byte are wanted in the
//   fastest tier. A move gains what is expected to be lost per window, for as
//   long as what was hot has stayed hot, less the same of what it puts out. It
//   costs the time of the copies as far as the job wants the links itself (at
//   least a tenth), and a fixed time for each extent. That is asked of each
//   object, and once more of the run that those make which are to move, with
//   what leaves for it.
// - DeepTM's agent is not here. Who decides is an option, and an agent is
//   handed in by the name under which it registers (decider.h).
// - That time is kExtentNs (stay_search.h).
// - `contiguous` off moves page by page in the order of heat, to compare.
// - Of more than two tiers only the fastest is chosen for. What leaves it goes
//   to the next that has room; in a plan, to the slowest.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "estimator/access_cost.h"
#include "policies/adaptive_heat.h"
#include "policies/better_plan.h"
#include "policies/capped_sum.h"
#include "policies/region_extents.h"
#include "policies/stay_search.h"
#include "policies/swaps.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr double kPage = 4096;
constexpr double kFill = 0.98;  // memory is not ours alone
constexpr double kLeastLoad = 0.1;
constexpr double kCold = 0.1;
constexpr double kCostAlpha = 2.0 / 21;  // of measured costs; ARMS's
constexpr double kStayAlpha = 0.1;
// In which a move is expected to pay. What the windows of a step use by turns
// comes back, so never less than about as many as a step has.
constexpr double kLeastWindows = 8;
constexpr double kMostWindows = 50;
// As many pages as the mover hands to the kernel in one call.
constexpr Bytes kExtent = Bytes{4} << 20;

// No branch: what an object is like nobody could guess.
double only_if(bool yes, double value) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) &
                               -static_cast<std::uint64_t>(yes));
}

struct DeeptmOptions {
  std::string decide = "rule";
  bool contiguous = true;
  double extent_ns = kExtentNs;
  std::int64_t trials = static_cast<std::int64_t>(StaySearch::Options().trials);
  double seconds = 30;
  void fields(auto& f) {
    f("decide", decide,
      "who says stay or move: rule, the only one that ships, or NAME:FILE of "
      "one that a plugin of yours registers (decider.h)");
    f("contiguous", contiguous,
      "false: page by page in the order of heat, to compare");
    f("extent_ns", extent_ns, 0.0, 1e9,
      "what a run of neighbours costs beside its bytes");
    f("trials", trials, std::int64_t{0}, std::int64_t{1'000'000},
      "steps that are replayed to adjust a plan's weights");
    f("seconds", seconds, 0.01, 1e5,
      "wall clock for these trials; then the best plan found is taken");
  }
};

Result<std::unique_ptr<Decider>> make_decider(const std::string& text) {
  const std::size_t colon = text.find(':');
  auto options = nlohmann::json::object();
  if (colon != std::string::npos) options["file"] = text.substr(colon + 1);
  return Registry<Decider>::make("decider", text.substr(0, colon), options);
}

class Deeptm final : public Policy {
 public:
  using Options = DeeptmOptions;
  static Result<std::unique_ptr<Policy>> make(Options options) {
    auto decider = make_decider(options.decide);
    if (!decider) return decider.error().within("option \"decide\"");
    return std::unique_ptr<Policy>(
        new Deeptm(std::move(options), *std::move(decider)));
  }
  Deeptm(Options options, std::unique_ptr<Decider> decider)
      : options_(std::move(options)), decider_(std::move(decider)) {}

  std::vector<Move> decide(const View& view) override;

  double heat(ObjectId object) const override {
    const auto& per_byte = heat_.log().per_byte();
    if (object >= per_byte.size() || per_byte[object] <= 0) return 0;
    return heat_.density()[object] / per_byte[object];
  }

  std::string explain(ObjectId object) const override {
    std::string text = heat_.log().describe(object);
    if (object >= heat_.density().size()) return text;
    char more[160];
    std::snprintf(more, sizeof more,
                  "; expected to lose %.3g us a window, moves are to pay in "
                  "%.3g windows; heat by ",
                  heat(object) / 1e3, horizon());
    return text + more + describe_weights(heat_.weights());
  }

  std::map<std::string, std::uint64_t> counts() const override {
    return {{"objects", objects_}, {"extents", extents_}};
  }

  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    StaySearch::Options options;
    options.trials = static_cast<std::size_t>(options_.trials);
    options.contiguous = options_.contiguous;
    options.extent_ns = options_.extent_ns;
    options.seconds = options_.seconds;
    auto out = StaySearch(iteration, room, *decider_, options).run();
    if (!out) return out.error();
    // Who brings a decider of their own wants what that says.
    if (options_.decide != "rule") return std::optional<Plan>(*std::move(out));
    auto best = no_worse_than_first_touch(*std::move(out), iteration, room);
    if (!best) return best.error();
    return std::optional<Plan>(*std::move(best));
  }

 private:
  // Windows for which what moves now is expected to pay.
  double horizon() const {
    return std::clamp(1 / std::max(1e-9, 1 - stays_), kLeastWindows,
                      kMostWindows);
  }
  Bytes room(const View& view) const {
    return static_cast<Bytes>(
        std::min(static_cast<double>(view.tiers[0].capacity) * kFill, 9e18));
  }
  void look_at_touched();
  void see_what_stayed();
  double share_of_hot() const;
  void choose(const View& view);
  void weigh(const View& view);
  Choice choice(const View& view, const Claim& hot,
                std::span<const Claim> leaving, std::size_t extents) const;
  void ask(const View& view);
  void choose_leavers(Bytes needed);
  std::vector<Move> carry_out(const View& view);

  Options options_;
  std::unique_ptr<Decider> decider_;
  AdaptiveHeat heat_;
  BestFit best_;  // who is wanted in the fastest tier
  Marks up_marks_;
  Marks down_marks_;
  std::vector<Choice> choices_;
  std::vector<std::uint8_t> answers_;
  std::vector<ObjectId> ups_;
  std::vector<ObjectId> downs_;
  RegionExtents up_;
  RegionExtents down_;
  // Of this window's accesses.
  struct Seen {
    double lost = 0;
    double hot = 0;  // what those lost that were last chosen
    double far_loads = 0;
    double far_stores = 0;
  } seen_;
  double hot_share_ = 0;      // of what was lost when the hot set was chosen
  double stays_ = 0.9;        // of the hot set's heat, from window to window
  double ns_per_byte_ = 0;    // of a copy
  double load_ = kLeastLoad;  // share of the link that the job wants
  std::uint64_t objects_ = 0;
  std::uint64_t extents_ = 0;
};

std::vector<Move> Deeptm::decide(const View& view) {
  heat_.see(view);
  if (view.tiers.size() < 2) return {};
  look_at_touched();
  see_what_stayed();
  weigh(view);
  choose(view);
  return carry_out(view);
}

// How much of what those lost that were hot a window ago they lose again, in
// shares of all that was lost, for one window may be busier than another.
void Deeptm::see_what_stayed() {
  const double share = share_of_hot();
  if (hot_share_ > 0 && share >= 0) {
    stays_ += kStayAlpha * (std::min(1.0, share / hot_share_) - stays_);
  }
}

void Deeptm::choose(const View& view) {
  // What would not pay for a part of its own copy is cold, not less hot.
  const double least = kCold * load_ * ns_per_byte_ / horizon();
  const std::span density(heat_.density());
  BytesLeft all{0, room(view), room(view)};
  best_.offer(density.first(view.objects.size()), heat_.log().columns(), 0, all,
              least);
  const auto& log = heat_.log();
  const Marks& wanted = best_.chosen();
  seen_.hot = 0;
  for (const auto& one : log.touched()) {
    const double lost = one.loads * log.load_ns() + one.stores * log.store_ns();
    seen_.hot += only_if(wanted[one.object] != 0, lost);
  }
  hot_share_ = share_of_hot();
}

// All that is asked of this window's accesses, in one pass: each waits for its
// own sum, so that several take the time of one.
void Deeptm::look_at_touched() {
  const auto& log = heat_.log();
  const auto tier = log.columns().tier;
  const Marks& wanted = best_.chosen();
  seen_ = {};
  for (const auto& one : log.touched()) {
    const double lost = one.loads * log.load_ns() + one.stores * log.store_ns();
    const bool far = tier[one.object] != 0;
    const bool hot = one.object < wanted.size() && wanted[one.object] != 0;
    seen_.lost += lost;
    seen_.hot += only_if(hot, lost);
    seen_.far_loads += only_if(far, one.loads);
    seen_.far_stores += only_if(far, one.stores);
  }
}

// Of this window's loss, that of those last chosen; -1 where nothing was lost.
double Deeptm::share_of_hot() const {
  return seen_.lost > 0 ? seen_.hot / seen_.lost : -1;
}

void Deeptm::weigh(const View& view) {
  const auto& fast = view.tiers.front();
  const auto& slow = view.tiers.back();
  const double copy = std::max(transfer_ns(1, slow.read_bytes_per_s),
                               transfer_ns(1, slow.write_bytes_per_s)) +
                      transfer_ns(1, fast.read_bytes_per_s);
  if (view.move_ns_per_byte > 0) {
    ns_per_byte_ += kCostAlpha * (view.move_ns_per_byte - ns_per_byte_);
  }
  ns_per_byte_ = std::max(ns_per_byte_, copy + kPageMoveNs / kPage);
  const double busy =
      transfer_ns(seen_.far_loads * kLineBytes, slow.read_bytes_per_s) +
      transfer_ns(seen_.far_stores * kLineBytes, slow.write_bytes_per_s);
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  load_ = std::clamp(busy / window, kLeastLoad, 1.0);
}

Choice Deeptm::choice(const View& view, const Claim& hot,
                      std::span<const Claim> leaving,
                      std::size_t extents) const {
  const auto value = [](const Claim& one) {
    return one.key * static_cast<double>(one.bytes);
  };
  double gain = value(hot);
  auto bytes = static_cast<double>(hot.bytes);
  for (const Claim& one : leaving) {
    gain -= value(one);
    bytes += static_cast<double>(one.bytes);
  }
  const auto free = [](const TierView& tier) {
    return tier.capacity > tier.used ? tier.capacity - tier.used : 0;
  };
  return {hot.bytes,
          false,
          hot.key,
          gain * horizon(),
          load_ * ns_per_byte_ * bytes +
              options_.extent_ns * static_cast<double>(extents),
          free(view.tiers.front()),
          free(view.tiers.back())};
}

// Asks for each object that is wanted in the fastest tier. What lies there and
// is not wanted may leave: downs_.
void Deeptm::ask(const View& view) {
  const auto columns = heat_.log().columns();
  mark_swaps(columns, best_.chosen(), best_.chosen(), up_marks_, down_marks_);
  ups_.clear();
  for_each_marked(up_marks_, [this](ObjectId i) { ups_.push_back(i); });
  choices_.clear();
  for (const ObjectId i : ups_) {
    choices_.push_back(choice(
        view, {heat_.density()[i], columns.bytes[i], i, columns.tier[i], false},
        {}, 0));
  }
  answers_.assign(choices_.size(), 0);
  decider_->decide(choices_, answers_);
  std::size_t kept = 0;
  for (std::size_t c = 0; c < ups_.size(); ++c) {
    ups_[kept] = ups_[c];
    kept += answers_[c] != 0 ? 1 : 0;
  }
  ups_.resize(kept);
}

// Of what may leave, the coldest, twice what has to: they may not lie together.
void Deeptm::choose_leavers(Bytes needed) {
  const auto columns = heat_.log().columns();
  best_.order().keep_lowest(columns.bytes, capped_sum(needed, needed),
                            down_marks_);
  downs_.clear();
  for_each_marked(down_marks_, [this](ObjectId i) { downs_.push_back(i); });
}

std::vector<Move> Deeptm::carry_out(const View& view) {
  ask(view);
  const TierView& fastest = view.tiers.front();
  const Bytes lying = heat_.log().columns().used.front();
  const Bytes over = lying > fastest.capacity ? lying - fastest.capacity : 0;
  if (ups_.empty() && over == 0) return {};
  const double extent_bytes =
      options_.extent_ns / std::max(1e-9, ns_per_byte_ * load_);
  const auto gap = static_cast<Bytes>(std::min(extent_bytes, 1e15));
  RegionExtents::Limits limits{std::min(kExtent, view.budget / 4), gap,
                               options_.contiguous};
  up_.join(view, ups_, heat_.density(), limits);
  Bytes largest = 0;
  Bytes coming = 0;
  for (const Claim& one : up_.claims()) {
    largest = std::max(largest, one.bytes);
    coming += one.bytes;
  }
  choose_leavers(over + std::min(coming, view.budget));
  // No more leaves at once than makes room for what comes.
  limits.bytes = std::min(limits.bytes, largest);
  limits.gap_bytes = 0;
  down_.join(view, downs_, heat_.density(), limits);
  const SwapLimits most{room(view), static_cast<double>(view.window_ns),
                        ns_per_byte_};
  const auto moves = swaps(
      view, heat_.log().columns(), up_.claims(), down_.claims(), most,
      [&](const Claim& hot, std::span<const Claim> leaving) {
        return decider_->moves(choice(view, hot, leaving, 1 + leaving.size()));
      });
  std::vector<Move> out;
  extents_ += moves.size();
  for (const Move& move : moves) {
    const auto& extents = move.to == 0 ? up_ : down_;
    for (const ObjectId i : extents.members(move.object)) {
      out.push_back({i, view.objects[i].tier, move.to});
    }
  }
  objects_ += out.size();
  return out;
}

const Register<Policy> kEntry{
    "deeptm",
    entry<Policy, Deeptm>("Heat by four characteristics with adjusted weights; "
                          "neighbours move together; after DeepTM.")};

}  // namespace
}  // namespace thermocline
