// topics_example: finds the topics of a corpus (LDA) with counts that all ranks
// share, in bulk and within a budget for what is sent.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "training/parameters/topics.h"
#include "training/ranks/job.h"

namespace thermocline {
namespace {

struct Settings {
  int ranks = 4;
  std::size_t documents = 1000;
  std::size_t length = 80;
  std::int64_t words = 1500;
  std::int64_t staleness = 256;
  double target = 5.9;  // nats a word; at first it is 6.5
  TopicOptions how;
  bool check = false;
};

Result<bool> compare(Ranks& ranks, const Settings& settings) {
  const Corpus corpus =
      make_corpus(settings.documents, settings.length, settings.words,
                  settings.how.topics, settings.how.seed + 4);
  TopicOptions how = settings.how;
  if (ranks.rank() == 0) {
    std::printf(
        "%zu documents of %zu of %lld words, %lld topics, to a loss of %.2f "
        "nats a word, %d ranks, %lld bytes a rank and clock\n",
        settings.documents, settings.length,
        static_cast<long long>(settings.words),
        static_cast<long long>(how.topics), settings.target, ranks.size(),
        static_cast<long long>(how.bytes_a_clock));
  }
  SendingOptions options;
  options.staleness = settings.staleness;
  options.target = settings.target;
  options.judged = "change";
  return compare_sending(
      ranks, options,
      [&](const std::string& order, std::int64_t staleness, double) {
        how.order = order;
        how.staleness = staleness;
        return find_topics(ranks, corpus, how);
      });
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using thermocline::Ranks;
  thermocline::Settings settings;
  auto& how = settings.how;
  how.bytes_a_clock = 800;
  how.clocks_an_epoch = 8;
  how.epochs = 60;
  CLI::App app{"Topics of a corpus, over shared counts."};
  app.add_option("--ranks", settings.ranks, "ranks without mpirun")
      ->check(CLI::Range(1, 64));
  app.add_option("--epochs", how.epochs)->check(CLI::Range(1, 10000));
  app.add_option("--clocks", how.clocks_an_epoch, "of an epoch")
      ->check(CLI::Range(1, 10000));
  app.add_option("--documents", settings.documents)
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--length", settings.length, "words of a document")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--words", settings.words)->check(CLI::Range(1, 10'000'000));
  app.add_option("--topics", how.topics)->check(CLI::Range(1, 10000));
  app.add_option("--budget", how.bytes_a_clock, "bytes per rank and clock")
      ->check(CLI::Range(0, 1'000'000'000));
  app.add_option("--staleness", settings.staleness)
      ->check(CLI::Range(1, 10000));
  app.add_option("--target", settings.target, "loss to reach, nats a word")
      ->check(CLI::Range(0., 100.));
  app.add_option("--seed", how.seed)->check(CLI::Range(0, 1'000'000));
  app.add_flag(
      "--check", settings.check,
      "fail unless what changed most first reaches the target with fewer "
      "bytes than bulk");
  CLI11_PARSE(app, argc, argv);
  const auto work = [&](Ranks& ranks) -> thermocline::Result<bool> {
    const auto good = thermocline::compare(ranks, settings);
    if (!good) return good;
    return *good || !settings.check;
  };
  return thermocline::run_program("topics_example", settings.ranks, work);
}
