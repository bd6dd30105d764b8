#include "agent/agent.h"

#include <nlohmann/json.hpp>

#include "agent/archive.h"
#include "agent/archive_kind.h"
#include "agent/features.h"
#include "agent/scores.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

std::string papers(const Agent::Info& info, std::int64_t hidden) {
  Json out;
  out["features"] = kFeatureNames;
  out["feature_hash"] = feature_hash();
  out["hidden"] = hidden;
  out["algorithm"] = info.algorithm;
  out["payback"] = info.payback;
  out["split"] = info.split;
  out["traces"] = info.traces;
  out["options"] = info.options;
  out["seed"] = info.seed;
  out["episodes"] = info.episodes;
  out["decisions"] = info.decisions;
  out["workers"] = info.workers;
  out["machines"] = info.machines;
  out["returns"] = info.returns;
  out["gap_closed"] = info.gap_closed;
  out["held_out"] = info.held_out;
  out["program"] = info.program;
  return out.dump();
}

}  // namespace

struct Agent::Impl {
  Impl(std::int64_t h, Info i)
      : hidden(h), info(std::move(i)), network(network_of(info.algorithm, h)) {
    use_one_thread();
    network->eval();
  }
  std::int64_t hidden;
  Info info;
  mutable QNetwork network;
};

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::Agent(Agent&&) noexcept = default;
Agent& Agent::operator=(Agent&&) noexcept = default;
Agent::~Agent() = default;

Agent::Agent(std::int64_t hidden, const std::vector<float>& weights, Info info)
    : impl_(std::make_unique<Impl>(hidden, std::move(info))) {
  CHECK(impl_->network->set_weights(weights));
}

Result<Agent> Agent::load(const std::string& path) {
  std::unique_ptr<Impl> impl;
  bool other_features = false;
  // The checksum is right, so the papers are ours; json's exceptions become
  // kCorrupt there, like LibTorch's.
  auto read = read_archive(path, kAgentKind, [&](auto& archive) {
    c10::IValue text;
    archive.read("papers", text);
    const Json json = Json::parse(text.toStringRef());
    other_features =
        json.at("feature_hash").template get<std::uint64_t>() != feature_hash();
    if (other_features) return;
    Info info;
    json.at("algorithm").get_to(info.algorithm);
    json.at("payback").get_to(info.payback);
    info.split = json.value("split", true);  // agents from before had it
    json.at("traces").get_to(info.traces);
    json.at("options").get_to(info.options);
    json.at("seed").get_to(info.seed);
    json.at("episodes").get_to(info.episodes);
    json.at("returns").get_to(info.returns);
    json.at("gap_closed").get_to(info.gap_closed);
    json.at("decisions").get_to(info.decisions);
    json.at("workers").get_to(info.workers);
    json.at("machines").get_to(info.machines);
    json.at("held_out").get_to(info.held_out);
    json.at("program").get_to(info.program);
    impl = std::make_unique<Impl>(
        json.at("hidden").template get<std::int64_t>(), std::move(info));
    impl->network->load(archive);
  });
  if (!read) return read.error();
  if (other_features) {
    return corrupt(path +
                   " was trained with other features than this program has; "
                   "train again with thermocline train");
  }
  return Agent(std::move(impl));
}

Status Agent::save(const std::string& path) const {
  torch::serialize::OutputArchive archive;
  impl_->network->save(archive);
  archive.write("papers", c10::IValue(papers(impl_->info, impl_->hidden)));
  return write_archive(path, kAgentKind, archive);
}

double Agent::score(std::span<const float> features,
                    std::vector<double>& out) const {
  const Info& info = impl_->info;
  return network_scores(impl_->network,
                        {info.algorithm, info.payback, info.split}, features,
                        out);
}

double Agent::score(std::span<const float> features,
                    std::span<const ObjectId> due, Foretold& kept,
                    std::vector<double>& out) const {
  const Info& info = impl_->info;
  return network_scores(impl_->network,
                        {info.algorithm, info.payback, info.split}, features,
                        due, kept, out);
}

const Agent::Info& Agent::info() const { return impl_->info; }

std::vector<float> Agent::weights() const { return impl_->network->weights(); }

void Agent::set_weights(const std::vector<float>& weights) {
  CHECK(impl_->network->set_weights(weights));
}

std::int64_t Agent::hidden() const { return impl_->hidden; }

}  // namespace thermocline
