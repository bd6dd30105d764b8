// Samples on their way out: a late reader is told exactly what it missed, and
// perf reads the stream as it was meant.
#include "tests/machine/sample_queue.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/machine/two_tiers.h"

namespace thermocline {
namespace {

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "sample_queue.XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    for (const char* file : {"socket", "stream"})
      ::unlink((*this / file).c_str());
    ::rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* file) const { return path_ + "/" + file; }

 private:
  std::string path_;
};

// The other end of a port: reads when asked to, not before.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : listening_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&address),
                     sizeof address),
              0);
    EXPECT_EQ(::listen(listening_, 1), 0);
  }
  ~Reader() {
    if (connected_ >= 0) ::close(connected_);
    ::close(listening_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // What there is now.
  std::string read() {
    if (connected_ < 0) connected_ = ::accept(listening_, nullptr, nullptr);
    std::string all;
    std::array<char, 65536> buffer{};
    ssize_t got = 0;
    while ((got = ::recv(connected_, buffer.data(), buffer.size(),
                         MSG_DONTWAIT)) > 0) {
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int listening_;
  int connected_ = -1;
};

class SampleQueueTest : public ::testing::Test {
 protected:
  SampleQueueTest()
      : stream_(std::make_unique<PerfStream>(two_.core, two_.all(), 2)),
        queue_(std::make_unique<SampleQueue>(*stream_)) {}

  static SampledAccess miss(std::uint64_t number, bool store = false) {
    SampledAccess miss;
    miss.access = {0x7f00'0000'0000 + number * 64, 0x40'1000 + number, 0,
                   store};
    miss.cpu = number % 2;
    miss.tier = number % 2;
    miss.period = 199;
    miss.time = number * 1'000'000;
    miss.latency = 305'000;
    return miss;
  }

  TwoTiers two_;
  std::unique_ptr<PerfStream> stream_;
  std::unique_ptr<SampleQueue> queue_;
};

struct Received {
  std::uint64_t samples = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t lost = 0;  // what those records say
};

Received parse(const std::string& bytes) {
  Received received;
  std::size_t offset = 16;  // the pipe header
  while (offset + sizeof(perf_event_header) <= bytes.size()) {
    perf_event_header record;
    std::memcpy(&record, bytes.data() + offset, sizeof record);
    EXPECT_GE(record.size, sizeof record);
    if (record.size < sizeof record) break;
    if (record.type == PERF_RECORD_SAMPLE) ++received.samples;
    if (record.type == PERF_RECORD_LOST) {
      std::uint64_t lost = 0;
      std::memcpy(&lost, bytes.data() + offset + 16, sizeof lost);
      ++received.lost_records;
      received.lost += lost;
    }
    offset += record.size;
  }
  EXPECT_EQ(offset, bytes.size());
  return received;
}

TEST_F(SampleQueueTest, ALateReaderLearnsHowManyItMissed) {
  const Folder folder;
  Reader reader(folder / "socket");
  Port port(folder / "socket");
  ASSERT_TRUE(port.open());
  // Four times what the queue takes; a record has 80 bytes or more.
  constexpr std::uint64_t kMany = 4 * SampleQueue::kCapacity / 80;
  queue_->begin(stream_->header(199, 199));
  for (std::uint64_t i = 0; i < kMany; ++i) queue_->sample(miss(i));
  const std::uint64_t lost_at_first = queue_->lost();
  EXPECT_GT(lost_at_first, kMany / 2);

  std::string bytes;
  const auto read_all = [&] {
    while (!queue_->empty()) {
      queue_->drain(port);
      bytes += reader.read();
    }
  };
  read_all();
  // There is room again: the loss is told before the next sample.
  queue_->sample(miss(kMany));
  read_all();
  EXPECT_EQ(parse(bytes).lost, lost_at_first);
  // A loss at the very end is told, too.
  for (std::uint64_t i = 0; i < kMany; ++i) queue_->sample(miss(i));
  queue_->end();
  read_all();

  const Received received = parse(bytes);
  EXPECT_EQ(received.samples, queue_->written());
  EXPECT_EQ(received.lost, queue_->lost());
  EXPECT_EQ(received.lost_records, 2u);
  EXPECT_EQ(received.samples + received.lost, 2 * kMany + 1);
}

TEST_F(SampleQueueTest, APunctualReaderMissesNothing) {
  const Folder folder;
  Reader reader(folder / "socket");
  Port port(folder / "socket");
  ASSERT_TRUE(port.open());
  queue_->begin(stream_->header(199, 199));
  std::string bytes;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    queue_->sample(miss(i));
    if (i % 100 != 0) continue;
    queue_->drain(port);
    bytes += reader.read();
  }
  queue_->end();
  while (!queue_->empty()) {
    queue_->drain(port);
    bytes += reader.read();
  }
  const Received received = parse(bytes);
  EXPECT_EQ(received.samples, 50'000u);
  EXPECT_EQ(received.lost_records, 0u);
}

// What `perf script` says of a file, one line per sample.
std::vector<std::string> perf_script(const std::string& file,
                                     const std::string& options) {
  const std::string command =
      "perf script -i " + file + " " + options + " 2>/dev/null";
  std::vector<std::string> lines;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    std::istringstream words(buffer.data());  // without perf's padding
    std::string line;
    for (std::string word; words >> word;)
      line += (line.empty() ? "" : " ") + word;
    lines.push_back(line);
  }
  ::pclose(pipe);
  return lines;
}

TEST_F(SampleQueueTest, PerfReadsACapturedStream) {
  if (std::system("perf --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no perf here; apt-get install linux-perf";
  }
  const Folder folder;
  std::string bytes = stream_->header(199, 101);
  bytes += stream_->sample(miss(1));
  bytes += stream_->sample(miss(2, true));
  Counters counters;
  counters.instructions = 12'345;
  bytes += stream_->count(0, 3'000'000, counters);
  bytes += stream_->lost(77);
  bytes += stream_->throttle(1, true, true, 3'500'000);
  bytes += stream_->throttle(1, true, false, 3'600'000);
  bytes += stream_->sample(miss(4));
  bytes += stream_->finished_round();
  std::ofstream(folder / "stream", std::ios::binary) << bytes;

  const auto lines = perf_script(folder / "stream", "");
  const std::vector<std::vector<const char*>> expected = {
      {"[001] 0.000001: 199 loads: 7f0000000040 ", "|LVL PMEM|", " 401001 "},
      {"[000] 0.000002: 199 stores: 7f0000000080 ", "|OP STORE|LVL Local RAM",
       " 401002 "},
      {"[000] 0.000003: 12345 instructions: "},
      {"[000] 0.000003: ", " cycles: "},
      {"[000] 0.000004: 199 loads: 7f0000000100 ", " 401004 "}};
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const char* part : expected[i]) {
      EXPECT_NE(lines[i].find(part), std::string::npos)
          << "no \"" << part << "\" in: " << lines[i];
    }
  }
  const auto all = perf_script(folder / "stream", "--show-lost-events");
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const std::string& line) {
                            return line.find("PERF_RECORD_LOST lost 77") !=
                                   std::string::npos;
                          }),
            1);
  // Only perf's dump shows throttling.
  const auto dump = perf_script(folder / "stream", "-D");
  for (const char* what : {"PERF_RECORD_THROTTLE", "PERF_RECORD_UNTHROTTLE"}) {
    EXPECT_TRUE(std::any_of(dump.begin(), dump.end(),
                            [&](const std::string& line) {
                              return line.find(what) != std::string::npos;
                            }))
        << what;
  }
}

}  // namespace
}  // namespace thermocline
