#include "agent/lesson.h"

#include <algorithm>

namespace thermocline {

Lesson::Lesson(const World& world, const Episode& episode,
               std::int64_t frame_objects, const Packer& packer,
               Learner& learner)
    : world_(world),
      frame_objects_(frame_objects),
      packer_(packer),
      learner_(learner),
      environment_(world, episode) {
  seen_.update(weighed_.see(environment_.view()));
}

void Lesson::step(double epsilon) {
  const View view = environment_.view();
  window_ns_ = view.window_ns;
  const std::vector<ObjectView> objects(view.objects.begin(),
                                        view.objects.end());
  const std::vector<float> before(seen_.features().begin(),
                                  seen_.features().end());
  learner_.explore(before, epsilon, score_);
  const double before_ns = environment_.time_ns();
  environment_.step(packer_(view, score_, 0));
  step_ns_ = environment_.time_ns() - before_ns;
  seen_.update(weighed_.see(environment_.view()));
  remember(before, objects);
}

// The decision as a random choice of its objects saw it.
void Lesson::remember(const std::vector<float>& before,
                      const std::vector<ObjectView>& objects) {
  std::vector<ObjectId> there;
  double resident = 0;
  for (const ObjectView& object : objects) {
    if (object.bytes == 0) continue;
    there.push_back(object.id);
    resident += static_cast<double>(object.bytes);
  }
  if (there.empty()) return;
  const auto after = seen_.features();
  const auto footprint = static_cast<double>(environment_.footprint());
  const double unit = footprint / environment_.mean_step_ns();
  const auto slow = static_cast<TierId>(world_.tiers.size() - 1);
  Frame frame;
  frame.promote = static_cast<float>(world_.move_ns(1, slow, 0) * unit);
  frame.demote = static_cast<float>(world_.move_ns(1, 0, slow) * unit);
  frame.room = static_cast<float>(
      static_cast<double>(environment_.view().tiers.front().capacity) /
      resident);
  frame.last = environment_.done() ? 1 : 0;
  const auto in_steps = [&](Nanos ns) {
    return static_cast<float>(static_cast<double>(std::max<Nanos>(ns, 1)) /
                              environment_.mean_step_ns());
  };
  frame.window = in_steps(window_ns_);
  frame.next = in_steps(environment_.view().window_ns);
  frame.reward = static_cast<float>(-step_ns_ / environment_.mean_step_ns());
  double sum = 0;
  const auto m = static_cast<std::size_t>(frame_objects_);
  for (std::size_t k = 0; k < m; ++k) {
    const ObjectId i = there[learner_.draw() % there.size()];
    const auto bytes = static_cast<double>(objects[i].bytes);
    const auto row = static_cast<std::ptrdiff_t>(i * kFeatures);
    const auto end = row + static_cast<std::ptrdiff_t>(kFeatures);
    frame.before.insert(frame.before.end(), before.begin() + row,
                        before.begin() + end);
    frame.after.insert(frame.after.end(), after.begin() + row,
                       after.begin() + end);
    frame.gap.push_back(
        static_cast<float>(environment_.gap_ns()[i] / bytes * unit));
    frame.share.push_back(static_cast<float>(bytes));
    sum += bytes;
  }
  for (float& share : frame.share) share /= static_cast<float>(sum);
  learner_.remember(std::move(frame));
}

}  // namespace thermocline
