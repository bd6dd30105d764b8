// What is sampled by default, and how it is encoded, on processors that are
// not here: libpfm is told to believe in them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/tracer/observed_job.h"
#include "tracer/perf_events.h"

namespace thermocline {
namespace {

struct Model {
  std::string pmu;  // libpfm's name
  std::string vendor;
  std::string files;  // below the event sources: "path=text;..."
  std::string list;   // of events; empty: the default
  std::string expected;
};

void PrintTo(const Model& model, std::ostream* out) {
  *out << model.pmu << " " << model.list;
}

// A tree of event sources that holds what the model's machine has.
class Place {
 public:
  explicit Place(const Model& model) : root_(scratch_path("model")) {
    place_.cpuinfo = root_ + "/cpuinfo";
    place_.devices = root_ + "/devices";
    std::filesystem::create_directories(place_.devices);
    std::ofstream(place_.cpuinfo) << "vendor_id\t: " << model.vendor << "\n";
    for (std::string rest = model.files; !rest.empty();) {
      const auto one = rest.substr(0, rest.find(';'));
      rest.erase(0, one.size() + 1);
      const auto equals = one.find('=');
      const std::filesystem::path at =
          place_.devices + "/" + one.substr(0, equals);
      std::filesystem::create_directories(at.parent_path());
      std::ofstream(at) << one.substr(equals + 1) << "\n";
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(root_); }
  const PerfPlace& get() const { return place_; }

 private:
  const std::string root_;
  PerfPlace place_;
};

// In a process of its own: libpfm forgets no processor that it was forced to
// believe in.
[[noreturn]] void print_events(const Model& model) {
  setenv("LIBPFM_FORCE_PMU", model.pmu.c_str(), 1);
  {
    const Place place(model);
    const auto events = perf_events(model.list, place.get());
    if (!events) std::fprintf(stderr, "%s\n", events.error().message.c_str());
    for (const auto& event : events ? *events : std::vector<PerfEvent>()) {
      std::fprintf(stderr, "%u:%llx/%llx precise %d aux %llx @%llu; ",
                   event.type, static_cast<unsigned long long>(event.config),
                   static_cast<unsigned long long>(event.config1),
                   event.precise,
                   static_cast<unsigned long long>(event.auxiliary),
                   static_cast<unsigned long long>(event.period));
    }
  }
  std::exit(0);
}

class PerfEventsOfModel : public testing::TestWithParam<Model> {};

TEST_P(PerfEventsOfModel, AreEncodedAsItsManualSays) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(print_events(GetParam()), testing::ExitedWithCode(0),
              GetParam().expected);
}

constexpr const char* kIntel = "GenuineIntel";
constexpr const char* kAmd = "AuthenticAMD";
constexpr const char* kPebs = "cpu/type=4;cpu/caps/max_precise=3";
constexpr const char* kUsual =
    "4:1cd/1e precise 2 aux 0 @4001; 4:82d0/0 precise 2 aux 0 @40009; ";

const Model kModels[] = {
    {"skx", kIntel, kPebs, "", kUsual},
    {"clx", kIntel, kPebs, "", kUsual},
    {"icx", kIntel, kPebs, "", kUsual},
    // Load latency must follow an auxiliary event in its group.
    {"spr", kIntel,
     "cpu/caps/max_precise=3;cpu/events/mem-loads-aux=event=0x03,umask=0x82",
     "",
     "4:1cd/1e precise 2 aux 8203 @4001; 4:82d0/0 precise 2 aux 0 @40009; "},
    // libpfm 4.13 says 3cd.
    {"spr", kIntel, kPebs, "MEM_TRANS_RETIRED:STORE_SAMPLE",
     "4:2cd/0 precise 2 aux 0 @40009; "},
    {"clx", kIntel, kPebs, "MEM_LOAD_RETIRED:LOCAL_PMM@101",
     "4:80d1/0 precise 2 aux 0 @101; "},
    {"skx", kIntel, kPebs, "MEM_LOAD_RETIRED:LOCAL_PMM",
     "event \"MEM_LOAD_RETIRED:LOCAL_PMM\": invalid event attribute"},
    {"icx", kIntel, kPebs, "MEM_LOAD_L3_MISS_RETIRED:REMOTE_PMM",
     "4:10d3/0 precise 2 aux 0 @4001; "},
    {"spr", kIntel, kPebs, "MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",
     "4:1d3/0 precise 2 aux 0 @4001; "},
    // What is asked for is kept.
    {"icx", kIntel, kPebs, "MEM_INST_RETIRED:ALL_LOADS:precise=1",
     "4:81d0/0 precise 1 aux 0 @4001; "},
    // A processor that libpfm does not know, but the kernel does.
    {"amd64_fam19h_zen4", kIntel,
     "cpu/events/mem-loads=event=0xcd,umask=0x1,ldlat=3;"
     "cpu/events/mem-stores=event=0xcd,umask=0x2",
     "", "4:1cd/1e precise 2 aux 0 @4001; 4:2cd/0 precise 2 aux 0 @40009; "},
    {"amd64_fam19h_zen4", kIntel, kPebs, "", "neither libpfm4 nor the kernel"},
    {"amd64_fam17h_zen1", kAmd, "ibs_op/type=10", "",
     "10:80000/0 precise 0 aux 0 @131344; "},
    {"amd64_fam17h_zen2", kAmd, "ibs_op/type=10", "",
     "10:80000/0 precise 0 aux 0 @131344; "},
    {"amd64_fam19h_zen3", kAmd, "ibs_op/type=11", "",
     "11:80000/0 precise 0 aux 0 @131344; "},
    {"amd64_fam19h_zen4", kAmd, "ibs_op/type=11", "",
     "11:80000/0 precise 0 aux 0 @131344; "},
    {"amd64_fam19h_zen4", kAmd, "cpu/type=4", "", "offers no ibs_op"},
};

std::string name_of(const testing::TestParamInfo<Model>& info) {
  return info.param.pmu + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Models, PerfEventsOfModel, testing::ValuesIn(kModels),
                         name_of);

}  // namespace
}  // namespace thermocline
