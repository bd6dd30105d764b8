#include "training/parameters/topics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "training/parameters/table.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Where a document's tokens begin; every rank can tell of every document.
std::vector<std::int64_t> first_topics(const Corpus& corpus, std::size_t d,
                                       const TopicOptions& how) {
  std::mt19937_64 rng(how.seed * 1'000'003 + d);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < corpus.documents[d].size(); ++i) {
    out.push_back(static_cast<std::int64_t>(
        rng() % static_cast<std::uint64_t>(how.topics)));
  }
  return out;
}

std::vector<float> first_counts(const Corpus& corpus, const TopicOptions& how) {
  std::vector<float> out(at((corpus.words + 1) * how.topics), 0.0F);
  for (std::size_t d = 0; d < corpus.documents.size(); ++d) {
    const auto topics = first_topics(corpus, d, how);
    for (std::size_t i = 0; i < topics.size(); ++i) {
      ++out[at(corpus.documents[d][i] * how.topics + topics[i])];
      ++out[at(corpus.words * how.topics + topics[i])];
    }
  }
  return out;
}

// One rank's documents.
struct Shelf {
  const Corpus& corpus;
  const TopicOptions& how;
  std::vector<std::size_t> mine;
  std::vector<std::vector<std::int64_t>> topics;  // of their tokens
  std::vector<std::vector<float>> counts;         // of their topics
  std::vector<double> weights;
  std::vector<float> delta;

  Shelf(Ranks& ranks, const Corpus& all, const TopicOptions& options)
      : corpus(all),
        how(options),
        weights(at(options.topics)),
        delta(at(options.topics)) {
    const auto size = static_cast<std::size_t>(ranks.size());
    for (auto d = static_cast<std::size_t>(ranks.rank());
         d < corpus.documents.size(); d += size) {
      mine.push_back(d);
      topics.push_back(first_topics(corpus, d, how));
      auto& count = counts.emplace_back(at(how.topics), 0.0F);
      for (const std::int64_t k : topics.back()) ++count[at(k)];
    }
  }

  // What p(topic) is proportional to, without the token itself.
  double weigh(std::span<const float> word, std::span<const float> all,
               std::size_t own, std::size_t k, std::int64_t now) const {
    const double self = at(now) == k ? 1 : 0;
    const auto rest = [self](float count) {
      return std::max(0.0, static_cast<double>(count) - self);
    };
    return (rest(counts[own][k]) + how.alpha) * (rest(word[k]) + how.beta) /
           (rest(all[k]) + how.beta * static_cast<double>(corpus.words));
  }

  Status sample(ParameterTable& table, std::size_t own, int epoch) {
    std::mt19937_64 rng((how.seed + 7) * 1'000'003 + mine[own] * 4099 +
                        static_cast<std::uint64_t>(epoch));
    std::uniform_real_distribution<double> uniform;
    const auto& words = corpus.documents[mine[own]];
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto word = table.row(words[i]);
      if (!word) return word.error();
      const auto all = table.row(corpus.words);
      if (!all) return all.error();
      std::int64_t& topic = topics[own][i];
      double sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        sum += weigh(*word, *all, own, k, topic);
        weights[k] = sum;
      }
      const auto drawn =
          std::lower_bound(weights.begin(), weights.end(), uniform(rng) * sum);
      const std::int64_t next =
          std::min<std::int64_t>(drawn - weights.begin(), how.topics - 1);
      if (next == topic) continue;
      std::fill(delta.begin(), delta.end(), 0.0F);
      delta[at(topic)] = -1;
      delta[at(next)] = 1;
      table.add(words[i], delta);
      table.add(corpus.words, delta);
      --counts[own][at(topic)];
      ++counts[own][at(next)];
      topic = next;
    }
    return {};
  }

  // The sum of -log p(word | document).
  double loss(const std::vector<float>& table) const {
    double out = 0;
    const auto count = [&](std::int64_t row, std::int64_t k) {
      return std::max(0.0F, table[at(row * how.topics + k)]);
    };
    const double topics_prior = how.alpha * static_cast<double>(how.topics);
    const double words_prior = how.beta * static_cast<double>(corpus.words);
    for (std::size_t own = 0; own < mine.size(); ++own) {
      const auto& words = corpus.documents[mine[own]];
      for (const std::int64_t word : words) {
        double p = 0;
        for (std::int64_t k = 0; k < how.topics; ++k) {
          p += (static_cast<double>(counts[own][at(k)]) + how.alpha) /
               (static_cast<double>(words.size()) + topics_prior) *
               (static_cast<double>(count(word, k)) + how.beta) /
               (static_cast<double>(count(corpus.words, k)) + words_prior);
        }
        out -= std::log(p);
      }
    }
    return out;
  }
};

}  // namespace

Corpus make_corpus(std::size_t documents, std::size_t length,
                   std::int64_t words, std::int64_t topics,
                   std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<std::vector<std::int64_t>> order(at(topics));
  for (auto& one : order) {
    for (std::int64_t w = 0; w < words; ++w) one.push_back(w);
    for (std::size_t left = one.size(); left > 1; --left) {
      std::swap(one[left - 1], one[rng() % left]);
    }
  }
  std::vector<double> zipf;
  for (std::int64_t w = 0; w < words; ++w) {
    zipf.push_back(1.0 / static_cast<double>(w + 1));
  }
  std::discrete_distribution<std::size_t> place(zipf.begin(), zipf.end());
  Corpus out{words, {}};
  for (std::size_t d = 0; d < documents; ++d) {
    // Two topics a document, three words in four of the first.
    const auto first = rng() % static_cast<std::uint64_t>(topics);
    const auto second = rng() % static_cast<std::uint64_t>(topics);
    auto& document = out.documents.emplace_back();
    for (std::size_t i = 0; i < length; ++i) {
      document.push_back(order[rng() % 4 == 0 ? second : first][place(rng)]);
    }
  }
  return out;
}

Result<std::vector<Progress>> find_topics(Ranks& ranks, const Corpus& corpus,
                                          const TopicOptions& how) {
  TableOptions options;
  options.rows = corpus.words + 1;  // the last: all words
  options.columns = how.topics;
  options.staleness = how.staleness;
  options.hold = how.staleness / 2;
  options.order = how.order;
  auto table = ParameterTable::make(ranks, options);
  if (!table) return table.error();
  if (auto ok = table->fill(first_counts(corpus, how)); !ok) return ok.error();
  Shelf shelf(ranks, corpus, how);
  double tokens = 0;
  for (const auto& document : corpus.documents) {
    tokens += static_cast<double>(document.size());
  }
  const auto clocks = static_cast<std::size_t>(how.clocks_an_epoch);
  std::vector<Progress> out;
  double seconds = 0;
  for (int epoch = 0; epoch < how.epochs; ++epoch) {
    for (std::size_t c = 0; c < clocks; ++c) {
      const auto from = Clock::now();
      const std::size_t all = shelf.mine.size();
      for (std::size_t d = all * c / clocks; d < all * (c + 1) / clocks; ++d) {
        if (auto ok = shelf.sample(*table, d, epoch); !ok) return ok.error();
      }
      if (auto ok = table->communicate(how.bytes_a_clock); !ok) {
        return ok.error();
      }
      if (auto ok = table->tick(); !ok) return ok.error();
      seconds += std::chrono::duration<double>(Clock::now() - from).count();
      if (auto ok = ranks.barrier(); !ok) return ok.error();
      const auto counts = table->now();
      if (!counts) return counts.error();
      std::vector<float> sums{static_cast<float>(shelf.loss(*counts)),
                              static_cast<float>(table->stats().sent_bytes +
                                                 table->stats().fetched_bytes)};
      if (auto ok = ranks.sum(sums); !ok) return ok.error();
      out.push_back({static_cast<double>(sums[0]) / tokens,
                     static_cast<double>(sums[1]), seconds});
    }
  }
  return out;
}

}  // namespace thermocline
