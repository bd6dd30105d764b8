// Latent Dirichlet allocation by collapsed Gibbs sampling, its counts of words
// in topics in a table that all ranks share.
//
// Documents are the ranks' own. The counts of a word over topics are a row, and
// so are those of all words; a rank samples from what it sees of them, at most
// so stale. Thread safety: one thread per rank; find_topics is collective.
// Source: Griffiths and Steyvers (PNAS 2004); on stale counts, as in Boesen
// (SoCC 2015).
#pragma once

#include "training/parameters/sending.h"

namespace thermocline {

struct Corpus {
  std::int64_t words = 0;
  std::vector<std::vector<std::int64_t>> documents;  // their words
};

/// Documents of few topics each; a topic's words follow Zipf's law, in an order
/// of its own. Same seed, same bits.
Corpus make_corpus(std::size_t documents, std::size_t length,
                   std::int64_t words, std::int64_t topics, std::uint64_t seed);

struct TopicOptions {
  std::int64_t topics = 10;
  double alpha = 0.1;  // priors of topics in documents, of words in topics
  double beta = 0.1;
  int epochs = 20;
  int clocks_an_epoch = 4;
  std::int64_t staleness = 0;
  std::string order = "magnitude";
  std::int64_t bytes_a_clock = 0;  // budget of a rank; with staleness > 0
  std::uint64_t seed = 1;
};

/// The loss is the mean of -log p(word | document) over the corpus, in nats.
Result<std::vector<Progress>> find_topics(Ranks& ranks, const Corpus& corpus,
                                          const TopicOptions& how);

}  // namespace thermocline
