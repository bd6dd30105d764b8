// Price: what an object in fast memory may cost, by two horizons.
//
// What comes soon (the next `decisions` decisions) is foreseen; what comes
// after, for as long again as the job has lasted (how long it will go on is
// not known, and for what has no age of its own that is the best guess), is
// taken to be what was so far. Let fast memory have a price t per byte and
// decision. Then to have an object there is worth, over both horizons,
//
//   decisions * (soon - t) + what lasts * (life - t), less the moves
//
// and what lasts can save or cost no more than the moves themselves, for it
// can be had, or be rid of, by a move later. So a burst must pay for the way
// there and back; what is hot for good need not pay soon; and what is cold for
// good leaves although it would not pay soon either. An object's score is the
// price at which both choices are worth the same: those of the highest score
// fill fast memory, at whatever price fills it.
//
// Thread safety: a pure function.
#pragma once

namespace thermocline {

// Of one object, per byte and decision, in units of a window's time over the
// footprint (features.h).
struct Outlook {
  double soon = 0;  // lost in slow memory, over the next decisions
  double life = 0;  // lost there so far, on average
  bool fast = false;
};

// What is alike for all objects.
struct Horizon {
  double decisions = 10;  // that are foreseen; above 0
  double lasted = 0;      // decisions since the job was first seen
  double up = 0;          // a move to fast memory, in windows for the footprint
  double down = 0;        // and from there
};

/// Per byte and decision. Above 0: it would pay if there were room.
inline double price_of(const Outlook& one, const Horizon& of) {
  const double both = of.decisions + of.lasted;
  const double sum = of.decisions * one.soon + of.lasted * one.life;
  const double price = (sum + (one.fast ? of.down : -of.up)) / both;
  const double way = (of.up + of.down) / of.decisions;
  // Worth to stay for good at this price: the way there will be paid anyway.
  if (of.lasted * (one.life - price) >= of.up) {
    return one.soon + (one.fast ? way : 0);
  }
  // Worth to leave for good: it is there for a while only.
  if (of.lasted * (price - one.life) >= of.down) {
    return one.soon - (one.fast ? 0 : way);
  }
  return price;
}

}  // namespace thermocline
