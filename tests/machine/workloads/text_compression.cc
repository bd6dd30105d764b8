// text_compression: a text is packed by references to its earlier parts (Lempel
// and Ziv 1977), found through hash chains as zlib does, in a large window.
//
// Each position is entered under the hash of its first four bytes: a table has
// the last position of a hash, a ring the one before it for each position in
// the window. A match is looked for along the chain, the longest of a few is
// taken. What is written is sequences: how many literals, these, how long the
// match is that follows, and how far back. After the text's end all begins
// anew.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kBlocks = 64;          // of the text; one in a step
constexpr std::size_t kWindowShare = 16;     // of memory's bytes, to a position
constexpr std::size_t kHeadShare = 64;       // likewise, to a hash
constexpr std::size_t kLeast = 4;            // bytes in a match,
constexpr std::size_t kGood = 64;            // and in one that is long enough
constexpr std::size_t kTries = 16;           // positions of a chain looked at
constexpr std::size_t kAhead = 8;            // bytes compared at once
constexpr std::uint32_t kNowhere = ~0U;      // as a position
constexpr std::size_t kVocabulary = 65'536;  // words
constexpr std::uint64_t kQuote = 16;     // one of so many words is a passage
constexpr std::size_t kLongQuote = 240;  // bytes, at most

struct Match {
  std::size_t length = 0;
  std::size_t distance = 0;
};

class TextCompression final : public Workload {
 public:
  explicit TextCompression(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    window_ = std::bit_floor(settings_.bytes / kWindowShare);
    const std::size_t heads = std::bit_floor(settings_.bytes / kHeadShare);
    chain_.resize(window_);
    heads_.resize(heads);
    const std::size_t rest =
        settings_.bytes - (window_ + heads) * sizeof(std::uint32_t);
    block_ = rest * 2 / 3 / kBlocks;
    packed_.resize(rest / 3);
    write_text(block_ * kBlocks);
  }

  std::vector<Array> arrays() const override {
    return {array_of("text", text_), array_of("chain", chain_),
            array_of("heads", heads_), array_of("packed", packed_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::size_t begin = index % kBlocks * block_;
    if (begin == 0) {
      std::fill(heads_.begin(), heads_.end(), kNowhere);
      packed_size_ = 0;
    }
    return pack(begin, done_ = begin + block_);
  }

  // What was packed gives the text again, and is less than half as long.
  Status check() override {
    std::string text;
    std::size_t at = 0;
    while (at < packed_size_) {
      const std::size_t literals = number(at);
      if (literals > packed_size_ - at) return corrupt("literals are missing");
      for (const std::size_t end = at + literals; at < end; ++at) {
        text.push_back(static_cast<char>(packed_[at]));
      }
      const std::size_t length = number(at);
      if (length == 0) continue;
      const std::size_t distance = number(at);
      if (distance == 0 || distance > text.size() || length > done_) {
        return corrupt("a match lies before the text, or is too long");
      }
      for (std::size_t i = 0; i < length; ++i) {
        text.push_back(text[text.size() - distance]);
      }
    }
    if (text.size() != done_ ||
        std::memcmp(text.data(), text_.data(), done_) != 0) {
      return corrupt("unpacked, the text is another");
    }
    if (packed_size_ < done_ / 2) return {};
    return corrupt("packed, the text is hardly shorter");
  }

  // The last literal: only a zero, for no match, is behind it.
  void spoil() override { packed_[packed_size_ - 2] ^= 1; }

 private:
  // Words, the frequent ones more often, and passages from before, most of them
  // from not long before.
  void write_text(std::size_t size) {
    Random random(settings_.seed);
    std::vector<std::string> words(kVocabulary);
    for (std::string& word : words) {
      const std::size_t letters = 2 + random.below(5) + random.below(5);
      while (word.size() < letters) {
        word.push_back(static_cast<char>('a' + random.skewed(26)));
      }
      word.push_back(' ');
    }
    text_.reserve(size + kLongQuote + kAhead);
    while (text_.size() < size) {
      if (random.below(kQuote) > 0 || text_.size() < kLongQuote) {
        const std::string& word = words[random.skewed(kVocabulary)];
        text_.insert(text_.end(), word.begin(), word.end());
        continue;
      }
      const std::size_t length = 1 + random.below(kLongQuote);
      std::size_t from = text_.size() - length;
      from -= random.skewed(from + 1);
      for (std::size_t i = 0; i < length; ++i) text_.push_back(text_[from++]);
    }
    text_.resize(size);
    text_.resize(size + kAhead);
  }

  template <typename Number>
  Number load(std::size_t at) const {
    Number number = 0;
    std::memcpy(&number, &text_[at], sizeof number);
    return number;
  }

  std::size_t hash(std::size_t at) const {
    const std::uint32_t mixed = load<std::uint32_t>(at) * 2654435761U;
    return mixed >> (32 - std::countr_zero(heads_.size()));
  }

  void enter(std::size_t at) {
    std::uint32_t& head = heads_[hash(at)];
    chain_[at & (window_ - 1)] = head;
    head = static_cast<std::uint32_t>(at);
  }

  // How many bytes are the same, before `end`.
  std::size_t common(std::size_t from, std::size_t at, std::size_t end) const {
    for (std::size_t length = 0; at + length < end; length += kAhead) {
      const std::uint64_t differ =
          load<std::uint64_t>(from + length) ^ load<std::uint64_t>(at + length);
      if (differ == 0) continue;
      length += static_cast<std::size_t>(std::countr_zero(differ)) / 8;
      return std::min(length, end - at);
    }
    return end - at;
  }

  // None: its length is zero.
  Match longest(std::size_t at, std::size_t end) const {
    Match best;
    if (end - at < kLeast) return best;
    std::size_t from = heads_[hash(at)];
    for (std::size_t tries = kTries; tries > 0; --tries) {
      // Those that left the window may be followed by any.
      if (from >= at || at - from >= window_) break;
      if (text_[from + best.length] == text_[at + best.length]) {
        const std::size_t length = common(from, at, end);
        if (length > best.length) best = {length, at - from};
        if (length >= kGood || at + length == end) break;
      }
      from = chain_[from & (window_ - 1)];
    }
    return best.length < kLeast ? Match{} : best;
  }

  std::uint64_t pack(std::size_t at, std::size_t end) {
    Digest digest;
    std::size_t literals = at;  // not written yet, from here on
    while (end - at > 1) {      // the last one is always a literal
      const Match match = longest(at, end - 1);
      if (match.length == 0) {
        enter(at++);
        continue;
      }
      write(literals, at, match);
      digest.add(at + (match.distance << 32));
      for (literals = at + match.length; at < literals; ++at) enter(at);
    }
    enter(at);
    write(literals, end, {});
    digest.add(packed_size_);
    return digest.value();
  }

  void write(std::size_t begin, std::size_t end, const Match& match) {
    CHECK(packed_size_ + (end - begin) + 3 * sizeof(std::uint64_t) <
          packed_.size());
    write_number(end - begin);
    std::copy(text_.begin() + static_cast<std::ptrdiff_t>(begin),
              text_.begin() + static_cast<std::ptrdiff_t>(end),
              packed_.begin() + static_cast<std::ptrdiff_t>(packed_size_));
    packed_size_ += end - begin;
    write_number(match.length);
    if (match.length > 0) write_number(match.distance);
  }

  // Seven bits in a byte, the lowest first; the last byte is below 128.
  void write_number(std::size_t number) {
    for (; number >= 128; number >>= 7) {
      packed_[packed_size_++] = static_cast<std::uint8_t>(number | 128);
    }
    packed_[packed_size_++] = static_cast<std::uint8_t>(number);
  }

  std::size_t number(std::size_t& at) const {
    std::size_t number = 0;
    for (unsigned shift = 0; at < packed_size_ && shift < 64; shift += 7) {
      const std::size_t byte = packed_[at++];
      number |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return number;
  }

  WorkloadSettings settings_;
  std::vector<std::uint8_t> text_;
  std::vector<std::uint32_t> chain_;  // before each position of the window
  std::vector<std::uint32_t> heads_;  // of each hash
  std::vector<std::uint8_t> packed_;
  std::size_t window_ = 0;  // positions; a power of two
  std::size_t block_ = 0;   // bytes
  std::size_t done_ = 0;    // bytes of text that are packed
  std::size_t packed_size_ = 0;
};

const RegisterWorkload kEntry{
    "text_compression",
    {"text compression: earlier parts of a text are found through hash chains, "
     "and referred to",
     "the last positions of hashes, at random; a window of the text and of the "
     "chains, at random; it grows for 9 steps, then moves on by a ninth of "
     "itself a step",
     true, make_workload<TextCompression>}};

}  // namespace
}  // namespace thermocline
