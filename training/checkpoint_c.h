/* A C interface to checkpoint.h, for other languages: see
 * thermocline_checkpoint.py. In libthermocline_checkpoint.so.
 *
 * Functions that can fail return 0 or NULL (or what is said) and leave a line
 * in thermocline_error(); a pool that is NULL makes them fail. Thread safety: a
 * pool, an interval or an order belongs to one thread at a time; errors are
 * each thread's own. */
#ifndef THERMOCLINE_CHECKPOINT_C_H
#define THERMOCLINE_CHECKPOINT_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thermocline_pool thermocline_pool;

typedef struct thermocline_piece {
  const char* name;     /* once in a checkpoint */
  const char* type;     /* "float32", ...; "bytes" */
  const int64_t* shape; /* elements a dimension */
  size_t dimensions;
  const void* bytes;
  uint64_t size; /* of bytes */
} thermocline_piece;

/* The last failure of this thread, one line. */
const char* thermocline_error(void);

/* Bytes that a slot needs for this state. */
uint64_t thermocline_slot_bytes(const thermocline_piece* pieces, size_t count);

/* A new pool, on disk in whole. NULL: failed (it exists, the disk is full). */
thermocline_pool* thermocline_pool_create(const char* path, uint64_t slot_bytes,
                                          int slots);
/* One that exists; `write` 0: to restore only, while a job may be saving into
 * it. NULL: failed. */
thermocline_pool* thermocline_pool_open(const char* path, int write);
/* Waits for a save under way. NULL is allowed. */
void thermocline_pool_close(thermocline_pool* pool);

/* 1 when what is saved is known to survive a power cut; 0 on tmpfs, and where
 * it is not known (overlayfs, NFS, FUSE). */
int thermocline_pool_durable(const thermocline_pool* pool);
/* Bytes that a slot of it has. */
uint64_t thermocline_pool_slot_bytes(const thermocline_pool* pool);

/* From here on, asks the thermoclined whose API is at that path before each
 * chunk that it writes, as a consumer of that name (bandwidth.h); `weight` is
 * its share, moves of pages have 1. Where none is, now or later, saves go on at
 * full speed. Returns: 1, or 0 when it failed (a path that can never be a
 * socket's, a name over 60 bytes, a weight outside 0.001 to 1000, a save before
 * it). */
int thermocline_pool_share(thermocline_pool* pool, const char* socket,
                           const char* name, double weight);

typedef struct thermocline_use {
  uint64_t taken;    /* bytes of the budget */
  double waited_s;   /* for them */
  const char* alone; /* why nobody shares out; empty while one does. Valid until
                      * the next call of this thread. */
} thermocline_use;

/* What it took so far. Returns: 1; 0 when it shares with nobody. */
int thermocline_pool_use(const thermocline_pool* pool, thermocline_use* out);

/* Saves; durable on return. Returns: 1, or 0 when it failed. */
int thermocline_save(thermocline_pool* pool, const thermocline_piece* pieces,
                     size_t count, uint64_t step);
/* Copies the state and saves it in the background. Returns: 1, or 0 when the
 * save before it failed. */
int thermocline_save_begin(thermocline_pool* pool,
                           const thermocline_piece* pieces, size_t count,
                           uint64_t step);

/* Copies now only the pieces whose `steady` is 0, and the others beside the
 * training, before its next update: those must stay as they are until
 * thermocline_before_update() has returned. `unchanged` is asked on another
 * thread when they have been copied; what returns 0 there is never committed.
 * Returns: as thermocline_save_begin(); also 0 when the save before it began
 * here and neither thermocline_before_update() nor _save_wait() followed. */
int thermocline_save_begin_beside(thermocline_pool* pool,
                                  const thermocline_piece* pieces, size_t count,
                                  const uint8_t* steady,
                                  int (*unchanged)(void* context),
                                  void* context, uint64_t step);
/* Call before each update of what is steady. Returns: the seconds that it
 * waited. */
double thermocline_before_update(thermocline_pool* pool);
/* Waits for what thermocline_save_begin() or _begin_beside() began. Returns: 1,
 * or 0 when it failed. */
int thermocline_save_wait(thermocline_pool* pool);
/* Of the last of those that is durable, once each: the seconds that training
 * waited, and that it took in all. Does not wait. Returns: 1; 0 when there is
 * none to tell; -1 when it failed. */
int thermocline_save_finished(thermocline_pool* pool, double* held_s,
                              double* full_s);

/* The newest whole checkpoint. Returns: 1; 0 when there is none yet; -1 when it
 * failed. Damage that was passed over is told by thermocline_error(), which is
 * empty otherwise. */
int thermocline_restore(thermocline_pool* pool, uint64_t* step, size_t* pieces);
/* Piece `index` of it, valid until the next save or restore. Returns: 0 when
 * there is none of that index. */
int thermocline_piece_at(const thermocline_pool* pool, size_t index,
                         thermocline_piece* out);

/* How often to save: checkpoint_interval.h. */
typedef struct thermocline_interval thermocline_interval;

/* `most_slowdown`: the share of the training's time that saves may cost, 0.0001
 * to 1; `profile`: iterations to measure before the first save, 1 to 10000.
 * NULL: failed. */
thermocline_interval* thermocline_interval_make(double most_slowdown,
                                                int64_t profile);
void thermocline_interval_free(thermocline_interval* interval); /* or NULL */
/* At the end of each iteration, with the seconds that it took. Returns: whether
 * to save now; -1 when that is no time. */
int thermocline_interval_after(thermocline_interval* interval, double seconds);
/* When that save is durable, as thermocline_save_finished() tells; or when
 * there was none. */
void thermocline_interval_saved(thermocline_interval* interval, double held_s,
                                double full_s);
void thermocline_interval_failed(thermocline_interval* interval);
/* Iterations from one save to the next; 0: not known yet. */
int64_t thermocline_interval_iterations(const thermocline_interval* interval);

/* Which samples come next: data_order.h. */
typedef struct thermocline_order thermocline_order;
typedef struct thermocline_order_state {
  uint64_t seed, epoch, position;
} thermocline_order_state;

/* NULL: failed (no samples, no memory). */
thermocline_order* thermocline_order_make(uint64_t samples, uint64_t seed);
void thermocline_order_free(thermocline_order* order); /* or NULL */
/* The next `count`, or those that the epoch has left; `samples` is valid until
 * the next call. Returns: how many; 0: failed (count is 0). */
uint64_t thermocline_order_next(thermocline_order* order, uint64_t count,
                                const uint64_t** samples);
thermocline_order_state thermocline_order_tell(const thermocline_order* order);
/* Goes on from there. Returns: 1, or 0 when the position is beyond the end. */
int thermocline_order_resume(thermocline_order* order,
                             thermocline_order_state state);

#ifdef __cplusplus
}
#endif

#endif
