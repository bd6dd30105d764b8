#include "training/checkpoint_c.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include "training/background_saver.h"
#include "training/bandwidth.h"
#include "training/checkpoint.h"
#include "training/checkpoint_interval.h"
#include "training/data_order.h"

using namespace thermocline;  // all of this file is its edge

struct thermocline_pool {
  explicit thermocline_pool(CheckpointPool opened)
      : pool(std::move(opened)), saver(pool) {}
  CheckpointPool pool;
  BackgroundSaver saver;
  std::shared_ptr<Bandwidth> bandwidth;  // null: nobody is asked
  std::optional<CheckpointPool::Copied> restored;
};
struct thermocline_interval : CheckpointInterval {
  using CheckpointInterval::CheckpointInterval;
};
struct thermocline_order : DataOrder {
  using DataOrder::DataOrder;
};

namespace {

// The daemon takes 80, of which the process and its count may need 20.
constexpr std::size_t kLongestConsumer = 60;

thread_local std::string last_error;

// Nothing that C++ throws (no memory) may reach a caller that is not C++.
template <typename Work, typename T>
T guarded(T failed, Work work) {
  last_error.clear();
  try {
    return work();
  } catch (const std::exception& e) {
    last_error = e.what();
    return failed;
  }
}

int told(const Error& error) {
  last_error = error.message;
  return 0;
}

template <typename Work, typename T>
T guarded(const thermocline_pool* pool, T failed, Work work) {
  return guarded(failed, [&] {
    if (pool != nullptr) return T(work());
    told(invalid("the pool is closed; open it again"));
    return failed;
  });
}

// Nobody need be there yet; but somebody must be able to.
Status check_socket(const std::string& path) {
  struct stat found = {};
  const bool there = ::stat(path.c_str(), &found) == 0;
  if (path.starts_with('/') && path.size() < sizeof(sockaddr_un::sun_path) &&
      (!there || S_ISSOCK(found.st_mode))) {
    return {};
  }
  return invalid("socket \"" + path +
                 "\" is no socket's path; give the whole path of "
                 "thermoclined's API, under " +
                 std::to_string(sizeof(sockaddr_un::sun_path)) +
                 " bytes, such as /run/thermocline/api.sock");
}

std::vector<Piece> pieces_of(const thermocline_piece* from, std::size_t count) {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < count; ++i) {
    const thermocline_piece& one = from[i];
    out.push_back({one.name,
                   one.type,
                   {one.shape, one.shape + one.dimensions},
                   {static_cast<const std::uint8_t*>(one.bytes), one.size},
                   0});
  }
  return out;
}

thermocline_pool* opened(Result<CheckpointPool> pool) {
  if (pool) return new thermocline_pool(*std::move(pool));
  told(pool.error());
  return nullptr;
}

// Views of the pool, or a copy, where others may write it.
Result<CheckpointPool::Copied> restored(thermocline_pool& from) {
  if (!from.pool.writable()) return from.pool.copy();
  auto found = from.pool.restore();
  if (!found) return found.error();
  return CheckpointPool::Copied{*std::move(found), {}};
}

}  // namespace

const char* thermocline_error() { return last_error.c_str(); }

uint64_t thermocline_slot_bytes(const thermocline_piece* pieces, size_t count) {
  return guarded(std::uint64_t{0}, [&] {
    return CheckpointPool::slot_bytes_for(pieces_of(pieces, count));
  });
}

thermocline_pool* thermocline_pool_create(const char* path, uint64_t slot_bytes,
                                          int slots) {
  return guarded(static_cast<thermocline_pool*>(nullptr), [&] {
    PoolOptions options;
    options.slot_bytes = slot_bytes;
    options.slots = slots;
    return opened(CheckpointPool::create(path, options));
  });
}

thermocline_pool* thermocline_pool_open(const char* path, int write) {
  return guarded(static_cast<thermocline_pool*>(nullptr), [&] {
    return opened(write != 0 ? CheckpointPool::open(path)
                             : CheckpointPool::open_to_read(path));
  });
}

void thermocline_pool_close(thermocline_pool* pool) { delete pool; }

int thermocline_pool_durable(const thermocline_pool* pool) {
  return guarded(pool, 0,
                 [&] { return pool->pool.durability().power_cut ? 1 : 0; });
}

uint64_t thermocline_pool_slot_bytes(const thermocline_pool* pool) {
  return guarded(pool, std::uint64_t{0},
                 [&] { return pool->pool.superblock().slot_bytes; });
}

int thermocline_pool_share(thermocline_pool* pool, const char* socket,
                           const char* name, double weight) {
  return guarded(pool, 0, [&] {
    if (const auto ok = check_socket(socket); !ok) return told(ok.error());
    if (std::string_view(name).size() > kLongestConsumer) {
      return told(invalid("name \"" + std::string(name) + "\" is longer than " +
                          std::to_string(kLongestConsumer) +
                          " bytes; give a shorter one"));
    }
    if (!(weight >= 1e-3 && weight <= 1e3)) {
      return told(invalid("weight = " + std::to_string(weight) +
                          " is outside [0.001, 1000]"));
    }
    if (const auto before = pool->saver.wait(); !before) {
      return told(before.error());
    }
    pool->bandwidth =
        shared_bandwidth({.socket = socket, .name = name, .weight = weight});
    pool->pool.share(pool->bandwidth);
    return 1;
  });
}

int thermocline_pool_use(const thermocline_pool* pool, thermocline_use* out) {
  return guarded(pool, 0, [&] {
    if (pool->bandwidth == nullptr) return 0;
    thread_local std::string alone;
    const auto use = pool->bandwidth->use();
    alone = use.alone;
    *out = {use.taken, use.waited_s, alone.c_str()};
    return 1;
  });
}

int thermocline_save(thermocline_pool* pool, const thermocline_piece* pieces,
                     size_t count, uint64_t step) {
  return guarded(pool, 0, [&] {
    pool->restored.reset();
    if (const auto before = pool->saver.wait(); !before) {
      return told(before.error());
    }
    const auto saved = pool->pool.save(pieces_of(pieces, count), step);
    return saved ? 1 : told(saved.error());
  });
}

int thermocline_save_begin(thermocline_pool* pool,
                           const thermocline_piece* pieces, size_t count,
                           uint64_t step) {
  return guarded(pool, 0, [&] {
    pool->restored.reset();
    const auto begun = pool->saver.begin(pieces_of(pieces, count), step);
    return begun ? 1 : told(begun.error());
  });
}

int thermocline_save_begin_beside(thermocline_pool* pool,
                                  const thermocline_piece* pieces, size_t count,
                                  const uint8_t* steady,
                                  int (*unchanged)(void* context),
                                  void* context, uint64_t step) {
  return guarded(pool, 0, [&] {
    pool->restored.reset();
    LivePieces live{pieces_of(pieces, count), [=]() -> Status {
                      if (unchanged(context) != 0) return {};
                      return invalid(
                          "what was saved beside the training was written "
                          "before the copy was made; say before_update() "
                          "before each such write");
                    }};
    for (std::size_t i = 0; i < count; ++i) {
      live.pieces[i].steady = steady[i] != 0;
    }
    const auto begun = pool->saver.begin_beside(live, step);
    return begun ? 1 : told(begun.error());
  });
}

double thermocline_before_update(thermocline_pool* pool) {
  return guarded(pool, 0.0, [&] { return pool->saver.before_update(); });
}

int thermocline_save_wait(thermocline_pool* pool) {
  return guarded(pool, 0, [&] {
    const auto done = pool->saver.wait();
    return done ? 1 : told(done.error());
  });
}

int thermocline_save_finished(thermocline_pool* pool, double* held_s,
                              double* full_s) {
  return guarded(pool, -1, [&] {
    const auto done = pool->saver.finished();
    if (!done) return told(done.error()) - 1;
    if (!*done) return 0;
    *held_s = (*done)->held_s;
    *full_s = (*done)->full_s;
    return 1;
  });
}

int thermocline_restore(thermocline_pool* pool, uint64_t* step,
                        size_t* pieces) {
  return guarded(pool, -1, [&] {
    if (const auto before = pool->saver.wait(); !before) {
      return told(before.error()) - 1;
    }
    auto found = restored(*pool);
    if (!found && found.error().code == Error::Code::kNotFound) return 0;
    if (!found) return told(found.error()) - 1;
    *step = found->restored.step;
    *pieces = found->restored.pieces.size();
    last_error = found->restored.passed_over();
    pool->restored = *std::move(found);
    return 1;
  });
}

int thermocline_piece_at(const thermocline_pool* pool, size_t index,
                         thermocline_piece* out) {
  if (pool == nullptr || !pool->restored ||
      index >= pool->restored->restored.pieces.size()) {
    return 0;
  }
  const Piece& piece = pool->restored->restored.pieces[index];
  *out = {piece.name.c_str(), piece.type.c_str(), piece.shape.data(),
          piece.shape.size(), piece.bytes.data(), piece.bytes.size()};
  return 1;
}

thermocline_interval* thermocline_interval_make(double most_slowdown,
                                                int64_t profile) {
  return guarded(static_cast<thermocline_interval*>(nullptr),
                 [&]() -> thermocline_interval* {
                   IntervalOptions options;
                   options.most_slowdown = most_slowdown;
                   options.profile = profile;
                   if (most_slowdown >= 1e-4 && most_slowdown <= 1 &&
                       profile >= 1 && profile <= 10000) {
                     return new thermocline_interval(options);
                   }
                   told(
                       invalid("most_slowdown is to be 0.0001 to 1, and "
                               "profile 1 to 10000"));
                   return nullptr;
                 });
}

void thermocline_interval_free(thermocline_interval* interval) {
  delete interval;
}

int thermocline_interval_after(thermocline_interval* interval, double seconds) {
  return guarded(-1, [&] {
    if (!(seconds >= 0) || std::isinf(seconds)) {
      return told(invalid("an iteration that took " + std::to_string(seconds) +
                          " s; give the seconds that passed")) -
             1;
    }
    return interval->after_iteration(seconds) ? 1 : 0;
  });
}

void thermocline_interval_saved(thermocline_interval* interval, double held_s,
                                double full_s) {
  interval->saved(held_s, full_s);
}

void thermocline_interval_failed(thermocline_interval* interval) {
  interval->failed();
}

int64_t thermocline_interval_iterations(const thermocline_interval* interval) {
  return interval->interval();
}

thermocline_order* thermocline_order_make(uint64_t samples, uint64_t seed) {
  return guarded(static_cast<thermocline_order*>(nullptr),
                 [&]() -> thermocline_order* {
                   if (samples > 0) return new thermocline_order(samples, seed);
                   told(invalid("an order of 0 samples; give at least 1"));
                   return nullptr;
                 });
}

void thermocline_order_free(thermocline_order* order) { delete order; }

uint64_t thermocline_order_next(thermocline_order* order, uint64_t count,
                                const uint64_t** samples) {
  return guarded(std::uint64_t{0}, [&]() -> std::uint64_t {
    if (count == 0) {
      told(invalid("0 samples are asked for; ask for at least 1"));
      return 0;
    }
    const auto next = order->next(count);
    *samples = next.data();
    return next.size();
  });
}

thermocline_order_state thermocline_order_tell(const thermocline_order* order) {
  const auto& state = order->state();
  return {state.seed, state.epoch, state.position};
}

int thermocline_order_resume(thermocline_order* order,
                             thermocline_order_state state) {
  return guarded(0, [&] {
    if (state.position > order->samples()) {
      return told(invalid("sample " + std::to_string(state.position) + " of " +
                          std::to_string(order->samples()) +
                          ": the order is of another data set"));
    }
    order->resume({state.seed, state.epoch, state.position});
    return 1;
  });
}
