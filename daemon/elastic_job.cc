#include "daemon/elastic_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <zmq.hpp>

#include "daemon/answers.h"
#include "daemon/job.h"
#include "daemon/socket_lock.h"
#include "daemon/stop_signals.h"

namespace thermocline {
namespace {

using nlohmann::json;
using Next = Membership::Next;

[[gnu::format(printf, 1, 2)]] void tell(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::fprintf(stderr, "thermocline: ");
  std::vfprintf(stderr, format, values);
  std::fprintf(stderr, "\n");
  va_end(values);
}

// A number of a message; its absence, a null (a loss that is no number) or
// anything else is `otherwise`.
template <typename Number>
Number number(const json& from, const char* key, Number otherwise) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<Number>() : otherwise;
}

// A word of it; anything else is none.
std::string word(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? at->get<std::string>() : "";
}

class Coordinator {
 public:
  Coordinator(const ElasticOptions& options, SocketLock lock)
      : options_(options), job_(options.workers), lock_(std::move(lock)) {}
  ~Coordinator() {
    socket_.close();
    ::unlink(options_.socket.c_str());
  }

  /// Throws zmq::error_t.
  void listen() {
    socket_.set(zmq::sockopt::linger, 100);
    socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{64} << 10);
    const auto before = ::umask(0077);
    socket_.bind("ipc://" + options_.socket);
    ::umask(before);
  }

  Result<ElasticReport> run() {
    ElasticReport out;
    const int stops = stop_signals();
    for (;;) {
      const auto ended = run_once(stops);
      if (!ended) return ended.error();
      out.status = *ended;
      const auto deaths = job_.progress().deaths;
      const int workers = job_.workers();
      out.end = job_.ended(*ended);
      if (job_.progress().deaths > deaths) tell_death(*ended, workers);
      if (out.end != Next::kRun) break;
    }
    ::close(stops);
    out.progress = job_.progress();
    out.stopped = stopping_ && last_ != "finished";
    return out;
  }

 private:
  static Error no_mpirun(Error error) {
    if (error.code == Error::Code::kNotFound) {
      error.message += ", name it with --mpirun, or install openmpi-bin";
    }
    return error;
  }

  // One mpirun, from start to end. Returns: its status.
  Result<int> run_once(int stops) {
    const int run = job_.start();
    rank0_.clear();
    last_.clear();
    told_ = false;
    Job::Options how;
    how.command = mpirun_words(options_, job_.hosts());
    how.environment = {{"THERMOCLINE_JOB", options_.socket},
                       {"THERMOCLINE_JOB_RUN", std::to_string(run)}};
    how.no_input = true;
    how.own_group = true;  // Ctrl-C is ours to answer
    auto mpirun = Job::start(how);
    if (!mpirun) return no_mpirun(mpirun.error());
    if (auto ok = mpirun->release(); !ok) return ok.error();
    const int workers = job_.workers();
    tell("run %d: %d worker%s", run, workers, workers == 1 ? "" : "s");
    for (;;) {
      std::vector<zmq::pollitem_t> items{
          {socket_.handle(), 0, ZMQ_POLLIN, 0},
          {nullptr, mpirun->descriptor(), ZMQ_POLLIN, 0},
          {nullptr, stops, ZMQ_POLLIN, 0}};
      zmq::poll(items, std::chrono::milliseconds(-1));
      if ((items[2].revents & ZMQ_POLLIN) != 0) stop(stops, *mpirun);
      hear_all();
      if (job_.wants_end()) ask_to_end();
      if ((items[1].revents & ZMQ_POLLIN) != 0) break;
    }
    const int status = mpirun->wait();
    hear_all();  // what rank 0 said last
    return status;
  }

  void stop(int stops, Job& mpirun) {
    if (stopping_ || rank0_.empty()) {
      if (stopping_) tell("ending the job without another checkpoint");
      mpirun.pass_on(stops);
    } else {
      signalfd_siginfo unused{};
      (void)!::read(stops, &unused, sizeof unused);
      tell("the job saves and ends; once more to end it at once");
    }
    stopping_ = true;
    job_.stop();
  }

  void ask_to_end() {
    if (told_ || rank0_.empty()) return;
    send(rank0_, {{"v", 1}, {"end", true}});
    told_ = true;
  }

  void send(const std::string& to, const json& words) {
    socket_.send(zmq::buffer(to), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(words.dump()), zmq::send_flags::dontwait);
  }

  void hear_all() {
    for (;;) {
      std::vector<zmq::message_t> frames;
      for (bool more = true; more;) {
        zmq::message_t frame;
        if (!socket_.recv(frame, zmq::recv_flags::dontwait)) return;
        more = frame.more();
        if (frames.size() < 8) frames.push_back(std::move(frame));
      }
      if (frames.size() < 2) continue;
      const auto words =
          json::parse(frames.back().to_string_view(), nullptr, false);
      if (words.is_object() && words.contains("run")) {
        hear(frames.front().to_string(), words);
        continue;
      }
      // One who asks, with whatever envelope.
      const auto reply = answer(words).dump();
      frames.back().rebuild(reply.data(), reply.size());
      for (std::size_t f = 0; f < frames.size(); ++f) {
        socket_.send(frames[f], f + 1 < frames.size()
                                    ? zmq::send_flags::sndmore
                                    : zmq::send_flags::dontwait);
      }
    }
  }

  // The first rank.
  void hear(const std::string& from, const json& words) {
    if (number(words, "run", 0) != job_.progress().run) return;
    const auto op = word(words, "op");
    const auto step = number(words, "step", std::uint64_t{0});
    if (op == "began") {
      rank0_ = from;
      job_.began(step);
      if (job_.progress().run > 1) {
        tell("run %d goes on from step %ju", job_.progress().run, step);
      }
    } else if (op == "stepped") {
      job_.stepped(step, number(words, "loss", 0.0));
    } else if (op == "saved") {
      job_.saved(step);
    } else if (op == "left" || op == "finished") {
      last_ = op;
      op == "left" ? job_.left() : job_.finished();
      send(from, {{"v", 1}, {"heard", true}});
    }
  }

  json answer(const json& words) {
    if (!words.is_object() || number(words, "v", 0) != 1) {
      return refusal(invalid("not a request; it is {\"v\":1,\"op\":...}"));
    }
    const auto op = word(words, "op");
    const auto host = word(words, "host");
    const int workers = number(words, "workers", 1);
    Status done;
    if (op == "join" || op == "leave") {
      done =
          op == "join" ? job_.join(host, workers) : job_.leave(host, workers);
      if (done) {
        tell("%d worker%s %s%s%s", workers, workers == 1 ? "" : "s",
             op == "join" ? "joined" : "left", host.empty() ? "" : " on ",
             host.c_str());
      }
    } else if (op == "stop") {
      stopping_ = true;
      job_.stop();
    } else if (op != "status") {
      done = not_found("no operation \"" + op +
                       "\"; there are: status join leave stop");
    }
    return done ? status() : refusal(done.error());
  }

  json status() const {
    const auto& at = job_.progress();
    json hosts = json::array();
    for (const auto& host : job_.hosts()) {
      hosts.push_back({{"host", host.name}, {"workers", host.workers}});
    }
    const char* state = rank0_.empty()     ? "starting"
                        : job_.wants_end() ? "ending"
                                           : "running";
    return {{"v", 1},
            {"ok", true},
            {"state", state},
            {"run", at.run},
            {"workers", job_.workers()},
            {"hosts", hosts},
            {"step", at.step},
            {"loss", at.loss},
            {"saved_step", at.saved ? json(*at.saved) : json(nullptr)},
            {"deaths", at.deaths},
            {"most_steps_lost", at.most_lost}};
  }

  void tell_death(int status, int workers) {
    const auto& at = job_.progress();
    const std::string saved =
        at.saved ? "the checkpoint at step " + std::to_string(*at.saved)
                 : "the beginning, for there is no checkpoint yet";
    tell("run %d ended at step %ju with status %d; what follows begins from %s",
         at.run, at.step, status, saved.c_str());
    if (job_.workers() < workers) {
      tell("it had saved nothing: %d worker%s from now on", job_.workers(),
           job_.workers() == 1 ? "" : "s");
    }
  }

  const ElasticOptions& options_;
  Membership job_;
  SocketLock lock_;
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::router};
  std::string rank0_;  // its address; empty until it says that it began
  std::string last_;   // its last word
  bool told_ = false;  // to end, in this run
  bool stopping_ = false;
};

}  // namespace

std::vector<std::string> mpirun_words(const ElasticOptions& options,
                                      const std::vector<Membership::Host>& on) {
  auto out = options.mpirun;
  int workers = 0;
  std::string hosts;
  for (const auto& host : on) {
    workers += host.workers;
    hosts += (hosts.empty() ? "" : ",") +
             (host.name.empty() ? "localhost" : host.name) + ":" +
             std::to_string(host.workers);
  }
  if (on.size() > 1) out.insert(out.end(), {"--host", hosts});
  out.insert(out.end(), {"-np", std::to_string(workers)});
  out.insert(out.end(), options.command.begin(), options.command.end());
  return out;
}

Result<ElasticReport> run_elastic(const ElasticOptions& options) {
  CHECK(!options.command.empty() && !options.mpirun.empty());
  auto lock = SocketLock::take(options.socket);
  if (!lock) return lock.error();
  try {
    Coordinator coordinator(options, *std::move(lock));
    coordinator.listen();
    return coordinator.run();
  } catch (const zmq::error_t& error) {
    return io("the job's socket " + options.socket + ": " + error.what() +
              "; choose another --socket");
  }
}

}  // namespace thermocline
