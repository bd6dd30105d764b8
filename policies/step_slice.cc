#include "policies/step_slice.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "traces/iterations.h"

namespace thermocline {
namespace {

// Of the peak: a step that leaves more behind than this does not repeat.
constexpr double kGrowth = 0.01;

struct Span {
  Nanos from = 0;
  Nanos to = 0;
  std::size_t first = 0;  // operators [first, last)
  std::size_t last = 0;
};

std::size_t operator_from(const Trace& trace, Nanos time) {
  const auto at = std::lower_bound(
      trace.operators.begin(), trace.operators.end(), time,
      [](const Operator& op, Nanos t) { return op.start < t; });
  return static_cast<std::size_t>(at - trace.operators.begin());
}

// The steps of a trace. What follows the last sign of a repetition may be of
// another kind, so it counts only where the job itself marks its steps.
std::vector<Span> steps_of(const Trace& trace, const Iterations& found) {
  std::vector<Nanos> cuts = found.starts;
  if (found.by == "marks") {
    cuts.push_back(std::max(trace.end_ns(), cuts.back()));
  }
  std::vector<Span> out;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    out.push_back({cuts[s], cuts[s + 1], operator_from(trace, cuts[s]),
                   operator_from(trace, cuts[s + 1])});
  }
  if (found.by == "marks" && !out.empty()) {
    out.back().last = trace.operators.size();
  }
  return out;
}

Span whole(const Trace& trace) {
  return {trace.start_ns(), trace.start_ns() + trace.run_ns(), 0,
          trace.operators.size()};
}

using Sizes = std::unordered_map<ObjectId, Bytes>;

bool alike(const Operator& a, const Operator& b, const Sizes& sizes) {
  const auto same = [&](const std::vector<ObjectId>& x,
                        const std::vector<ObjectId>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](ObjectId p, ObjectId q) {
                        const auto at = sizes.find(p);
                        const auto other = sizes.find(q);
                        return at != sizes.end() && other != sizes.end() &&
                               at->second == other->second;
                      });
  };
  return a.name == b.name && same(a.reads, b.reads) && same(a.writes, b.writes);
}

bool alike(const Trace& trace, const Span& a, const Span& b,
           const Sizes& sizes) {
  const auto& all = trace.operators;
  const auto at = [&](std::size_t i) {
    return all.begin() + static_cast<std::ptrdiff_t>(i);
  };
  return a.last > a.first &&
         std::equal(at(a.first), at(a.last), at(b.first), at(b.last),
                    [&](const Operator& x, const Operator& y) {
                      return alike(x, y, sizes);
                    });
}

// Bytes alive at each of the times (ascending), and the most at any time.
std::pair<std::vector<Bytes>, Bytes> alive_at(const Trace& trace,
                                              const std::vector<Nanos>& times) {
  std::vector<std::pair<Nanos, std::int64_t>> events;
  for (const Tensor& tensor : trace.tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor.bytes);
    events.emplace_back(tensor.born, bytes);
    if (tensor.died >= 0) events.emplace_back(tensor.died, -bytes);
  }
  std::sort(events.begin(), events.end());
  std::vector<Bytes> out;
  std::int64_t now = 0;
  std::int64_t most = 0;
  std::size_t next = 0;
  const auto until = [&](Nanos time) {
    for (; next < events.size() && events[next].first < time; ++next) {
      now += events[next].second;
      most = std::max(most, now);
    }
  };
  for (const Nanos time : times) {
    until(time);
    out.push_back(static_cast<Bytes>(std::max<std::int64_t>(now, 0)));
  }
  until(std::numeric_limits<Nanos>::max());
  return {out, static_cast<Bytes>(std::max<std::int64_t>(most, 0))};
}

bool grows(const Trace& trace, const Span& step) {
  const auto [live, peak] = alive_at(trace, {step.from, step.to});
  return static_cast<double>(live[1]) >
         static_cast<double>(live[0]) + kGrowth * static_cast<double>(peak);
}

// What a trace says of one tensor in a span, in operators of the span.
struct Seen {
  const Tensor* tensor = nullptr;
  std::size_t born = 0;
  std::size_t dies = 0;
  std::size_t first_use = std::numeric_limits<std::size_t>::max();
  std::size_t last_use = 0;  // one past it; 0: never used
  bool read_first = false;
  bool before = false;  // alive when the span begins
  bool after = false;   // alive when it has ended
};

class Slicer {
 public:
  Slicer(const Trace& trace, const Span& span, bool is_whole)
      : trace_(trace), span_(span), whole_(is_whole) {}

  Result<StepSlice> run() {
    if (span_.last <= span_.first) {
      return invalid("the step has no operators; record with the observer");
    }
    find_tensors();
    for (std::size_t i = 0; i < operators(); ++i) {
      for (const ObjectId serial : op(i).reads) use(serial, i, true);
      for (const ObjectId serial : op(i).writes) use(serial, i, false);
    }
    for (Seen& one : seen_) settle(one);
    join();
    if (out_.lives.empty()) {
      return invalid(
          "no tensor is alive in the step; record with the observer");
    }
    write();
    return std::move(out_);
  }

 private:
  std::size_t operators() const { return span_.last - span_.first; }
  const Operator& op(std::size_t i) const {
    return trace_.operators[span_.first + i];
  }
  std::size_t within(std::size_t op_of_trace) const {
    return std::clamp(op_of_trace, span_.first, span_.last) - span_.first;
  }

  void find_tensors() {
    for (const Tensor& tensor : trace_.tensors) {
      if (tensor.bytes == 0) continue;
      if (!whole_ && (tensor.born >= span_.to ||
                      (tensor.died >= 0 && tensor.died <= span_.from))) {
        continue;
      }
      at_.emplace(tensor.serial, seen_.size());
      seen_.emplace_back();
      seen_.back().tensor = &tensor;
    }
  }

  void use(ObjectId serial, std::size_t i, bool read) {
    const auto at = at_.find(serial);
    if (at == at_.end()) return;
    Seen& one = seen_[at->second];
    if (one.last_use == 0) {
      one.first_use = i;
      one.read_first = read;
    }
    one.last_use = i + 1;
  }

  // The operator during or before which a tensor came to be.
  std::size_t birth(Nanos born) const {
    const std::size_t next = operator_from(trace_, born + 1);
    if (next == 0) return 0;
    return trace_.operators[next - 1].end > born ? next - 1 : next;
  }

  void settle(Seen& one) const {
    const Tensor& tensor = *one.tensor;
    one.after = tensor.died < 0 || (!whole_ && tensor.died >= span_.to);
    one.before = whole_ ? one.read_first || birth(tensor.born) == 0
                        : tensor.born < span_.from;
    if (whole_ && one.before && !one.read_first && one.last_use > 0) {
      one.before = tensor.born < op(0).start;
    }
    one.born = one.before ? 0 : within(birth(tensor.born));
    one.born = std::min({one.born, one.first_use, operators() - 1});
    one.dies =
        one.after ? operators() : within(operator_from(trace_, tensor.died));
    one.dies = std::max({one.dies, one.last_use, one.born + 1});
  }

  // How far into the next step a tensor lives that outlives this one.
  std::size_t dies_next(const Seen& one) const {
    if (one.tensor->died < 0) return operators();
    return operator_from(trace_, one.tensor->died) - span_.last;
  }

  void add(const Seen& one, bool wraps, bool persistent) {
    number_[one.tensor->serial] = out_.lives.size();
    out_.lives.push_back(
        {one.tensor->serial, one.born, one.dies, wraps, persistent});
    bytes_.push_back(one.tensor);
  }

  // A tensor of the step before that dies in this one, and one of this step
  // that dies in the next: the same, if size and time of death agree, or else
  // size alone.
  void join() {
    std::vector<const Seen*> heads;
    std::vector<const Seen*> tails;
    for (const Seen& one : seen_) {
      if (one.before && one.after) {
        add(one, true, true);
      } else if (one.before) {
        heads.push_back(&one);
      } else if (one.after && !whole_) {
        tails.push_back(&one);
      } else {
        add(one, false, false);
      }
    }
    for (const bool exact : {true, false}) {
      for (const Seen*& head : heads) {
        for (const Seen*& tail : tails) {
          if (head == nullptr || tail == nullptr) continue;
          if (head->tensor->bytes != tail->tensor->bytes) continue;
          if (exact && head->dies != dies_next(*tail)) continue;
          if (head->dies > tail->born) continue;  // both at once
          Seen both = *tail;
          both.dies = head->dies;
          add(both, true, false);
          number_[head->tensor->serial] = out_.lives.size() - 1;
          head = tail = nullptr;
        }
      }
    }
    for (const auto* left : {&heads, &tails}) {
      for (const Seen* one : *left) {
        if (one != nullptr) add(*one, false, false);
      }
    }
  }

  std::vector<ObjectId> renamed(const std::vector<ObjectId>& serials) const {
    std::vector<ObjectId> out;
    for (const ObjectId serial : serials) {
      const auto at = number_.find(serial);
      if (at == number_.end()) continue;
      out.push_back(static_cast<ObjectId>(at->second + 1));
    }
    return out;
  }

  void write() {
    Trace& out = out_.trace;
    out.info = trace_.info;
    for (std::size_t t = 0; t < out_.lives.size(); ++t) {
      Tensor tensor = *bytes_[t];
      tensor.serial = static_cast<ObjectId>(t + 1);
      out.tensors.push_back(std::move(tensor));
    }
    for (std::size_t i = 0; i < operators(); ++i) {
      Operator one = op(i);
      one.reads = renamed(one.reads);
      one.writes = renamed(one.writes);
      out.operators.push_back(std::move(one));
    }
    out.marks = {{span_.from, "start"}, {span_.to, "end"}};
    out.end = {true, 0, span_.to - span_.from, 0};
  }

  const Trace& trace_;
  Span span_;
  bool whole_;
  std::vector<Seen> seen_;
  std::unordered_map<ObjectId, std::size_t> at_;      // by serial, into seen_
  std::unordered_map<ObjectId, std::size_t> number_;  // by serial, the new one
  std::vector<const Tensor*> bytes_;
  StepSlice out_;
};

}  // namespace

Result<ChosenStep> choose_step(const Trace& trace,
                               std::optional<std::size_t> asked) {
  const Iterations found = find_iterations(trace);
  const auto steps =
      found.starts.empty() ? std::vector<Span>{} : steps_of(trace, found);
  ChosenStep out;
  if (asked) {
    if (*asked >= steps.size()) {
      return invalid("there is no step " + std::to_string(*asked) +
                     "; the trace has " + std::to_string(steps.size()) +
                     " whole steps, counted from 0");
    }
    out.step = asked;
    return out;
  }
  if (steps.size() < 2) {
    out.notes.emplace_back(
        "no repetition found: the whole trace is taken as one step");
    return out;
  }
  Sizes sizes;
  for (const Tensor& tensor : trace.tensors) {
    sizes.emplace(tensor.serial, tensor.bytes);
  }
  for (std::size_t s = 1; s + 1 < steps.size() && !out.step; ++s) {
    if (alike(trace, steps[s], steps[s + 1], sizes)) out.step = s;
  }
  const std::size_t step =
      out.step.value_or(std::max<std::size_t>(1, steps.size() - 2));
  if (found.by != "marks" && grows(trace, steps[step])) {
    out.step = {};
    out.notes.emplace_back(
        "what repeats leaves memory behind, as layers do and steps do not: "
        "the whole trace is taken as one step");
    return out;
  }
  if (!out.step) {
    out.notes.push_back("no two steps after the first are alike; step " +
                        std::to_string(step) + " stands for all");
  }
  out.step = step;
  return out;
}

Result<StepSlice> cut_step(const Trace& trace,
                           std::optional<std::size_t> step) {
  if (!step) return Slicer(trace, whole(trace), true).run();
  const auto steps = steps_of(trace, find_iterations(trace));
  if (*step >= steps.size()) {
    return invalid("there is no step " + std::to_string(*step));
  }
  return Slicer(trace, steps[*step], false).run();
}

void assume_memory_bound(Trace& trace, const Tier& fastest) {
  Nanos now = 0;
  for (Operator& op : trace.operators) {
    double ns = 0;
    for (const auto* list : {&op.reads, &op.writes}) {
      std::vector<ObjectId> each = *list;
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
      for (const ObjectId serial : each) {
        ns += 1e9 * static_cast<double>(trace.tensors[serial - 1].bytes) /
              (list == &op.reads ? fastest.read_bytes_per_s
                                 : fastest.write_bytes_per_s);
      }
    }
    op.start = now;
    now += std::max<Nanos>(1, static_cast<Nanos>(ns));
    op.end = now;
  }
  trace.marks = {{0, "start"}, {now, "end"}};
  trace.end = {true, 0, now, 0};
}

}  // namespace thermocline
