#include "estimator/core.h"

#include <algorithm>

#include "estimator/below.h"

namespace thermocline {

void Core::wait_until(double time, std::size_t shape) {
  if (time <= now_) return;
  if (!seen_.empty()) seen_[shape].waited += time - now_;
  now_ = time;
}

void Core::work(double ns, double instructions) {
  now_ += ns;
  instructions_ += instructions;
  while (flights_begin_ != flights_end_) {
    const Flight& oldest = flights_[flights_begin_ % kFlights];
    if (oldest.at > instructions_ - kWindowInstructions) break;
    wait_until(oldest.done, oldest.shape);
    ++flights_begin_;
  }
}

// A line comes in the place of another; before when it cannot.
double Core::push_out(std::size_t shape, std::size_t tier) {
  newest_ = below(leaves_, kCached);
  Line& old = cached_[newest_];
  double not_before = 0;
  if (old.back_ns > 0) {
    double& link = link_free_[old.tier];
    const double leaves = std::max(link, now_);
    link = leaves + old.back_ns;
    const double whole = shapes_[old.shape].back_ns[old.tier];
    if (whole > 0) not_before = leaves - kGoingBack * whole;
  }
  old = {shapes_[shape].written_ns[tier], shape, tier};
  return not_before;
}

// Over the link.
double Core::pass(std::size_t shape, std::size_t tier, double not_before) {
  double& link = link_free_[tier];
  const double start = std::max(link, now_);
  link = start + shapes_[shape].read_ns[tier];
  return std::max(start, not_before) + shapes_[shape].latency_ns[tier];
}

double Core::fetch(std::size_t shape, std::size_t tier, double not_before) {
  return pass(shape, tier, std::max(not_before, push_out(shape, tier)));
}

double Core::fetch_ahead(std::size_t shape, std::size_t tier) {
  return pass(shape, tier, 0);
}

// Waits for one.
Core::Buffer& Core::free_fill_buffer() {
  Buffer& buffer = *std::min_element(
      buffers_.begin(), buffers_.end(),
      [](const Buffer& a, const Buffer& b) { return a.free < b.free; });
  wait_until(buffer.free, buffer.shape);
  return buffer;
}

void Core::hold_fill_buffer(std::size_t shape, double done) {
  Buffer& buffer = free_fill_buffer();
  buffer = {std::max(done, now_), shape};
}

double Core::fill(std::size_t shape, std::size_t tier) {
  Buffer& buffer = free_fill_buffer();
  buffer = {fetch(shape, tier), shape};
  return buffer.free;
}

double Core::load(std::size_t shape, std::size_t tier) {
  const double done = fill(shape, tier);
  if (!seen_.empty()) seen_[shape].latency.add(done - now_);
  return done;
}

double Core::load_fetched(std::size_t shape, std::size_t tier, double done) {
  done = std::max(done, push_out(shape, tier));
  if (done <= now_) return done;
  hold_fill_buffer(shape, done);  // it is on its way
  if (!seen_.empty() && done > now_) seen_[shape].latency.add(done - now_);
  return done;
}

// The next store's line comes then.
double Core::fills_store(double done) {
  fills_[fill_] = done;
  fill_ = (fill_ + 1) % kStoreFills;
  return done;
}

double Core::store(std::size_t shape, std::size_t tier) {
  await_store_buffer(shape);
  return fills_store(fetch(shape, tier, fills_[fill_]));
}

double Core::store_fetched(std::size_t shape, std::size_t tier, double done) {
  await_store_buffer(shape);
  return fills_store(std::max({done, fills_[fill_], push_out(shape, tier)}));
}

void Core::write(std::size_t tier) {
  Line& line = cached_[newest_];
  line.back_ns = shapes_[line.shape].back_ns[tier];
}

void Core::issue_load(std::size_t shape, double done) {
  if (flights_end_ - flights_begin_ == kFlights) {
    const Flight& oldest = flights_[flights_begin_++ % kFlights];
    wait_until(oldest.done, oldest.shape);
  }
  flights_[flights_end_++ % kFlights] = {done, instructions_, shape};
}

void Core::await_store_buffer(std::size_t shape) {
  wait_until(stores_[store_], shape);
}

void Core::post(double done) {
  drained_ = std::max(drained_, done);
  stores_[store_] = drained_;
  store_ = (store_ + 1) % kStores;
}

}  // namespace thermocline
