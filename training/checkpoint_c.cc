#include "training/checkpoint_c.h"

#include <memory>
#include <optional>

#include "training/background_saver.h"
#include "training/bandwidth.h"
#include "training/checkpoint.h"

using namespace thermocline;  // all of this file is its edge

struct thermocline_pool {
  explicit thermocline_pool(CheckpointPool opened)
      : pool(std::move(opened)), saver(pool) {}
  CheckpointPool pool;
  BackgroundSaver saver;
  std::shared_ptr<Bandwidth> bandwidth;  // null: nobody is asked
  std::optional<CheckpointPool::Copied> restored;
};

namespace {

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
  return pool->pool.durability().power_cut ? 1 : 0;
}

int thermocline_pool_share(thermocline_pool* pool, const char* socket,
                           const char* name, double weight) {
  return guarded(0, [&] {
    if (*socket == '\0') {
      return told(invalid(
          "no socket is named; give the path of thermoclined's API, such as "
          "/run/thermocline/api.sock"));
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
  return guarded(0, [&] {
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
  return guarded(0, [&] {
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
  return guarded(0, [&] {
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
  return guarded(0, [&] {
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
  return pool->saver.before_update();
}

int thermocline_save_wait(thermocline_pool* pool) {
  return guarded(0, [&] {
    const auto done = pool->saver.wait();
    return done ? 1 : told(done.error());
  });
}

int thermocline_restore(thermocline_pool* pool, uint64_t* step,
                        size_t* pieces) {
  return guarded(-1, [&] {
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
  if (!pool->restored || index >= pool->restored->restored.pieces.size())
    return 0;
  const Piece& piece = pool->restored->restored.pieces[index];
  *out = {piece.name.c_str(), piece.type.c_str(), piece.shape.data(),
          piece.shape.size(), piece.bytes.data(), piece.bytes.size()};
  return 1;
}
