// string_automaton: network traffic is searched for many patterns at once (Aho
// and Corasick 1975), as in an intrusion detection system.
//
// The patterns of a protocol make a trie, and that a machine with a transition
// for each state and letter: to the longest suffix of what was read that begins
// a pattern. A state at whose end a pattern ends leads to its rule, and to the
// next shorter one that ends there too. As in Snort, there is a machine for
// each protocol; its traffic is searched for a while, then another's. Case does
// not matter: a letter is a byte's lower five bits.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kLetters = 32;
constexpr std::size_t kProtocols = 4;
constexpr std::size_t kParts = 4;       // of a protocol's traffic; one a step
constexpr std::size_t kTextShare = 4;   // of memory, to one of text
constexpr std::size_t kRuleShare = 32;  // likewise, of rules and patterns
constexpr std::size_t kPatternBytes = 16;    // about
constexpr std::size_t kLongest = 48;         // bytes of a pattern
constexpr std::size_t kVocabulary = 16'384;  // words of a protocol
constexpr std::uint64_t kSingle = 4;   // of so many patterns one is one word
constexpr std::uint64_t kAttack = 64;  // of so many words one is a pattern
constexpr std::string_view kByFrequency = "etaoinshrdlcumwfgypbvkjxqz";

using State = std::uint32_t;
using Row = std::array<State, kLetters>;

struct Rule {
  std::uint32_t begin = 0, length = 0;  // of its pattern
  std::uint64_t last = 0;  // byte, of all that were read, where it was found
  std::uint64_t hits = 0;
};

std::size_t letter_of(char c) {
  return static_cast<unsigned char>(c) % kLetters;
}

class StringAutomaton final : public Workload {
 public:
  explicit StringAutomaton(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t for_text = settings_.bytes / kTextShare;
    const std::size_t for_rules = settings_.bytes / kRuleShare;
    const std::size_t states = (settings_.bytes - for_text - for_rules) /
                               (sizeof(Row) + 2 * sizeof(std::uint32_t));
    transitions_.resize(states);
    outputs_.resize(states);
    links_.resize(states);
    rules_.reserve(for_rules / (sizeof(Rule) + kPatternBytes));
    patterns_.reserve(rules_.capacity() * kPatternBytes);
    part_ = for_text / (kProtocols * kParts);
    text_.reserve(for_text + kLongest);
    Random random(settings_.seed);
    std::vector<State> failures(states), queue;
    for (std::size_t p = 0; p < kProtocols; ++p) {
      const auto words = make_words(random);
      make_patterns(p, words, random);
      make_machine(p, failures, queue);
      write_text(p, words, random);
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("transitions", transitions_),
            array_of("outputs", outputs_),
            array_of("links", links_),
            array_of("rules", rules_),
            {"patterns", patterns_.data(), patterns_.size()},
            {"text", text_.data(), text_.size()}};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::size_t begin = index % (kProtocols * kParts) * part_;
    State state = roots_[begin / (part_ * kParts)];
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < part_; ++i) {
      state = transitions_[state][letter_of(text_[begin + i])];
      State at = outputs_[state] != 0 ? state : links_[state];
      for (; at != 0; at = links_[at]) {
        Rule& rule = rules_[outputs_[at] - 1];
        ++rule.hits;
        rule.last = steps_ * part_ + i;
        found = found * 31 + outputs_[at];
      }
    }
    ++steps_;
    return mix(found + state);
  }

  // Each rule's hits and the last of them, from the patterns in the order of a
  // dictionary: those that begin what follows are all the beginnings of one,
  // the last that is not behind it.
  Status check() override {
    std::vector<Rule> expected = rules_;
    for (Rule& rule : expected) rule.hits = rule.last = 0;
    constexpr std::uint64_t kRound = kProtocols * kParts;
    for (std::uint64_t s = steps_ - std::min(steps_, kRound); s < steps_; ++s) {
      find_again(s, s / kRound + 1, expected);
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].hits == expected[i].hits &&
          rules_[i].last == expected[i].last) {
        continue;
      }
      return corrupt("the pattern of rule " + std::to_string(i) +
                     " is elsewhere than where it was found");
    }
    return {};
  }

  void spoil() override { ++rules_[rules_.size() / 2].hits; }

 private:
  std::string_view pattern(std::size_t rule) const {
    return std::string_view(patterns_).substr(rules_[rule].begin,
                                              rules_[rule].length);
  }

  static std::vector<std::string> make_words(Random& random) {
    std::vector<std::string> words(kVocabulary);
    for (std::string& word : words) {
      const std::uint64_t length = 3 + random.below(8);
      while (word.size() < length) {
        const double u = random.unit();
        word.push_back(kByFrequency[static_cast<std::size_t>(
            u * u * static_cast<double>(kByFrequency.size()))]);
      }
    }
    return words;
  }

  // Words, mostly two or three in a row, until the protocol's states are used.
  void make_patterns(std::size_t protocol,
                     const std::vector<std::string>& words, Random& random) {
    const std::size_t states =
        transitions_.size() * (protocol + 1) / kProtocols;
    const std::size_t rules = rules_.capacity() * (protocol + 1) / kProtocols;
    roots_[protocol] = used_++;
    first_[protocol] = rules_.size();
    while (used_ + kLongest < states && rules_.size() < rules) {
      std::string one = words[random.below(kVocabulary)];
      if (random.below(kSingle) != 0) {
        for (std::uint64_t more = 1 + random.below(2); more > 0; --more) {
          one += ' ' + words[random.below(kVocabulary)];
        }
      }
      State at = roots_[protocol];
      for (const char c : one) {
        State& next = transitions_[at][letter_of(c)];
        if (next == 0) next = used_++;
        at = next;
      }
      if (outputs_[at] != 0) continue;  // there is this pattern
      rules_.push_back({static_cast<std::uint32_t>(patterns_.size()),
                        static_cast<std::uint32_t>(one.size())});
      patterns_ += one;
      outputs_[at] = static_cast<std::uint32_t>(rules_.size());
    }
    first_[protocol + 1] = rules_.size();
  }

  // Level by level: a missing transition is that of the longest suffix.
  void make_machine(std::size_t protocol, std::vector<State>& failures,
                    std::vector<State>& queue) {
    const State root = roots_[protocol];
    queue.assign(1, root);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const State at = queue[i], suffix = failures[at];
      for (std::size_t c = 0; c < kLetters; ++c) {
        State& next = transitions_[at][c];
        const State other = at == root ? root : transitions_[suffix][c];
        if (next == 0) {
          next = other;
          continue;
        }
        failures[next] = other;
        links_[next] = outputs_[other] != 0 ? other : links_[other];
        queue.push_back(next);
      }
    }
  }

  // Common words more often, and a pattern now and then.
  void write_text(std::size_t protocol, const std::vector<std::string>& words,
                  Random& random) {
    const std::size_t rules = first_[protocol + 1] - first_[protocol];
    const std::size_t size = part_ * kParts * (protocol + 1);
    while (text_.size() < size) {
      if (random.below(kAttack) == 0) {
        text_ += pattern(first_[protocol] + random.below(rules));
      } else {
        const double u = random.unit();
        text_ += words[static_cast<std::size_t>(u * u * u * u * kVocabulary)];
      }
      text_ += ' ';
    }
    text_.resize(size);
  }

  void find_again(std::uint64_t step, std::uint64_t times,
                  std::vector<Rule>& expected) const {
    const std::size_t part = step % (kProtocols * kParts);
    const std::size_t protocol = part / kParts;
    std::vector<std::size_t> sorted(first_[protocol + 1] - first_[protocol]);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      sorted[i] = first_[protocol] + i;
    }
    std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
      return pattern(a) < pattern(b);
    });
    const auto begins = [&](std::size_t rule, std::string_view with) {
      return with.starts_with(pattern(rule));
    };
    // The place of the longest pattern that begins one, and one more.
    std::vector<std::size_t> shorter(sorted.size());
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      std::size_t before = i;
      while (before > 0 && !begins(sorted[before - 1], pattern(sorted[i]))) {
        before = shorter[before - 1];
      }
      shorter[i] = before;
    }
    const auto text = std::string_view(text_).substr(part * part_, part_);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::string_view rest = text.substr(i, kLongest);
      const auto behind = std::upper_bound(
          sorted.begin(), sorted.end(), rest,
          [&](std::string_view a, std::size_t b) { return a < pattern(b); });
      auto at = static_cast<std::size_t>(behind - sorted.begin());
      for (; at > 0; at = shorter[at - 1]) {
        const std::size_t found = sorted[at - 1];
        if (!begins(found, rest)) continue;
        expected[found].hits += times;
        expected[found].last = std::max(
            expected[found].last, step * part_ + i + pattern(found).size() - 1);
      }
    }
  }

  WorkloadSettings settings_;
  std::vector<Row> transitions_;        // of each state; 0 is the first root
  std::vector<std::uint32_t> outputs_;  // rule, and one more; 0: none
  std::vector<State> links_;            // longest suffix with a rule; 0: none
  std::vector<Rule> rules_;
  std::string patterns_, text_;
  std::array<State, kProtocols> roots_{};
  std::array<std::size_t, kProtocols + 1> first_{};  // rules
  std::size_t part_ = 0;                             // bytes of text in a step
  State used_ = 0;
  std::uint64_t steps_ = 0;
};

const RegisterWorkload kEntry{
    "string_automaton",
    {"pattern matching: traffic is searched for many patterns at once by Aho "
     "and Corasick's machine",
     "states of common words, of one of 4 protocols' machines; the other "
     "states, links and rules at random; text end to end; another protocol's "
     "every 4 steps",
     true, make_workload<StringAutomaton>}};

}  // namespace
}  // namespace thermocline
