#include "training/parameters/factorise.h"

#include <chrono>

#include "training/loops/runner.h"
#include "training/parameters/adarevision.h"
#include "training/parameters/table.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kUserSeed = 11;
constexpr std::uint64_t kItemSeed = 12;

std::span<const float> row_of(const std::vector<float>& all, std::int64_t row,
                              std::int64_t rank) {
  return std::span(all).subspan(static_cast<std::size_t>(row * rank),
                                static_cast<std::size_t>(rank));
}

// Sums two numbers over the ranks.
Result<std::pair<double, double>> totals(Ranks& ranks, double a, double b) {
  std::vector<float> both{static_cast<float>(a), static_cast<float>(b)};
  if (auto ok = ranks.sum(both); !ok) return ok.error();
  return std::pair(static_cast<double>(both[0]), static_cast<double>(both[1]));
}

// Both factors are read and changed: a user's row and an item's.
Loop loop_over(const Ratings& ratings) {
  Loop out{{ratings.users, ratings.items},
           false,
           {{"W", ArrayAccess::Mode::kUpdate, {index(0), all()}},
            {"H", ArrayAccess::Mode::kUpdate, {index(1), all()}}},
           {}};
  for (const Rating& one : ratings.all) {
    out.points.push_back({one.user, one.item});
  }
  return out;
}

Result<Schedule> schedule_for(const Loop& loop, int ranks) {
  const auto plan = plan_loop(loop);
  if (!plan) return plan.error();
  return Schedule::make(loop, *plan, {ranks});
}

// A step on one rating, on rows in place.
class Step {
 public:
  explicit Step(const FactoriseOptions& how)
      : rate_(static_cast<float>(how.rate)),
        add_w_(static_cast<std::size_t>(how.rank)),
        add_h_(add_w_) {}
  std::size_t columns() const { return add_w_.size(); }
  void take(const Rating& one, float* w, float* h) {
    const std::span user(w, columns());
    const std::span item(h, columns());
    step_of(user, item, one.value, rate_, add_w_, add_h_);
    for (std::size_t k = 0; k < columns(); ++k) {
      user[k] += add_w_[k];
      item[k] += add_h_[k];
    }
  }

 private:
  float rate_;
  std::vector<float> add_w_;
  std::vector<float> add_h_;
};

double loss_of(const Ratings& ratings, const std::vector<float>& users,
               const std::vector<float>& items, std::int64_t rank) {
  double error = 0;
  for (const Rating& one : ratings.all) {
    error += static_cast<double>(squared_error(row_of(users, one.user, rank),
                                               row_of(items, one.item, rank),
                                               one.value));
  }
  return error / static_cast<double>(ratings.all.size());
}

}  // namespace

Result<std::vector<Progress>> factorise_in_order(Ranks& ranks,
                                                 const Ratings& ratings,
                                                 const FactoriseOptions& how) {
  const Loop loop = loop_over(ratings);
  const auto schedule = schedule_for(loop, ranks.size());
  if (!schedule) return schedule.error();
  auto w = SharedArray::make(ranks, "W", {ratings.users, how.rank});
  if (!w) return w.error();
  auto h = SharedArray::make(ranks, "H", {ratings.items, how.rank});
  if (!h) return h.error();
  if (auto ok = w->fill(first_factors(ratings.users, how.rank, kUserSeed)); !ok)
    return ok.error();
  if (auto ok = h->fill(first_factors(ratings.items, how.rank, kItemSeed)); !ok)
    return ok.error();
  auto runner = LoopRunner::make(ranks, loop, *schedule, {&*w, &*h});
  if (!runner) return runner.error();
  Step step(how);
  std::vector<Progress> out;
  double bytes = 0;
  double seconds = 0;
  for (int epoch = 0; epoch < how.epochs; ++epoch) {
    const auto stats = runner->run([&](Iteration& it) {
      const Rating& one = ratings.all[it.which()];
      step.take(one, &it.at(0, {one.user, 0}), &it.at(1, {one.item, 0}));
    });
    if (!stats) return stats.error();
    const auto users = w->whole();
    const auto items = h->whole();
    if (!users) return users.error().within("the users' factors");
    if (!items) return items.error().within("the items' factors");
    const auto sum = totals(ranks, 0, static_cast<double>(stats->remote_bytes));
    if (!sum) return sum.error();
    bytes += sum->second;
    seconds += stats->seconds;
    out.push_back({loss_of(ratings, *users, *items, how.rank), bytes, seconds});
  }
  return out;
}

Result<std::vector<double>> factorise_serially(int ranks,
                                               const Ratings& ratings,
                                               const FactoriseOptions& how) {
  const auto schedule = schedule_for(loop_over(ratings), ranks);
  if (!schedule) return schedule.error();
  std::vector<std::size_t> order;
  for (int clock = 0; clock < schedule->clocks(); ++clock) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Tile tile = schedule->tile(rank, clock);
      order.insert(order.end(), tile.which.begin(), tile.which.end());
    }
  }
  auto w = first_factors(ratings.users, how.rank, kUserSeed);
  auto h = first_factors(ratings.items, how.rank, kItemSeed);
  Step step(how);
  std::vector<double> out;
  for (int epoch = 0; epoch < how.epochs; ++epoch) {
    for (const std::size_t which : order) {
      const Rating& one = ratings.all[which];
      step.take(one, w.data() + one.user * how.rank,
                h.data() + one.item * how.rank);
    }
    out.push_back(loss_of(ratings, w, h, how.rank));
  }
  return out;
}

namespace {

// One rank's part of the data-parallel run.
struct Share {
  const Ratings& ratings;
  const FactoriseOptions& how;
  std::vector<const Rating*> mine;
  std::vector<float> users;  // all rows, of which this rank's are used
  std::vector<AdaRevision> user_steps;  // without delay: nobody else's
  std::vector<float> add_w;
  std::vector<float> add_h;

  Share(Ranks& ranks, const Ratings& all, const FactoriseOptions& options)
      : ratings(all),
        how(options),
        users(first_factors(all.users, options.rank, kUserSeed)),
        add_w(static_cast<std::size_t>(options.rank)),
        add_h(add_w) {
    for (const Rating& one : ratings.all) {
      if (one.user % ranks.size() == ranks.rank()) mine.push_back(&one);
    }
    if (!how.revise) return;
    user_steps.assign(static_cast<std::size_t>(all.users),
                      {add_w.size(), static_cast<float>(how.rate)});
  }

  Status train(ParameterTable& table, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const auto item = table.row(mine[i]->item);
      if (!item) return item.error();
      const auto at = static_cast<std::size_t>(mine[i]->user * how.rank);
      const auto user = std::span(users).subspan(at, add_w.size());
      step_of(user, *item, mine[i]->value,
              how.revise ? -1 : static_cast<float>(how.rate), add_w, add_h);
      if (how.revise) {  // with a rate of -1 they are the gradients
        auto& steps = user_steps[static_cast<std::size_t>(mine[i]->user)];
        steps.apply(add_w, std::vector<float>(steps.sum()), user);
      } else {
        for (std::size_t k = 0; k < add_w.size(); ++k) user[k] += add_w[k];
      }
      table.add(mine[i]->item, add_h);
    }
    return {};
  }

  double error(const std::vector<float>& items) const {
    double out = 0;
    for (const Rating* one : mine) {
      out += static_cast<double>(
          squared_error(row_of(users, one->user, how.rank),
                        row_of(items, one->item, how.rank), one->value));
    }
    return out;
  }
};

}  // namespace

Result<std::vector<Progress>> factorise_in_parallel(
    Ranks& ranks, const Ratings& ratings, const FactoriseOptions& how) {
  TableOptions options;
  options.rows = ratings.items;
  options.columns = how.rank;
  options.staleness = how.staleness;
  // Half of the slack to wait for being sent, half for what was read to last:
  // with all of it in either, every row would be read anew at each clock.
  options.hold = how.staleness / 2;
  options.order = how.order;
  options.step = how.revise ? how.rate : 0;
  auto table = ParameterTable::make(ranks, options);
  if (!table) return table.error();
  if (auto ok = table->fill(first_factors(ratings.items, how.rank, kItemSeed));
      !ok) {
    return ok.error();
  }
  Share share(ranks, ratings, how);
  const auto clocks = static_cast<std::size_t>(how.clocks_an_epoch);
  std::vector<Progress> out;
  double seconds = 0;
  for (int epoch = 0; epoch < how.epochs; ++epoch) {
    for (std::size_t c = 0; c < clocks; ++c) {
      const auto from = Clock::now();
      const std::size_t all = share.mine.size();
      if (auto ok =
              share.train(*table, all * c / clocks, all * (c + 1) / clocks);
          !ok) {
        return ok.error();
      }
      if (auto ok = table->communicate(how.bytes_a_clock); !ok) {
        return ok.error();
      }
      if (auto ok = table->tick(); !ok) return ok.error();
      seconds += std::chrono::duration<double>(Clock::now() - from).count();
      if (auto ok = ranks.barrier(); !ok) return ok.error();
      const auto items = table->now();
      if (!items) return items.error();
      const auto sum =
          totals(ranks, share.error(*items),
                 static_cast<double>(table->stats().sent_bytes +
                                     table->stats().fetched_bytes));
      if (!sum) return sum.error();
      out.push_back({sum->first / static_cast<double>(ratings.all.size()),
                     sum->second, seconds});
    }
  }
  return out;
}

}  // namespace thermocline
