// An operator that runs many others, to be observed:
//   nested_operators_job [others | throws]
// Prints how often it was run, how often LibTorch recorded what it ran inside,
// and how many operators another listener heard.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {

int g_recorded = 0;
int g_heard = 0;

at::Tensor& many(at::Tensor& x, std::int64_t times) {
  g_recorded += at::isRecordFunctionEnabled() ? 1 : 0;
  for (std::int64_t i = 0; i < times; ++i) x.add_(1);
  if (times == 13) throw std::runtime_error("thirteen");
  return x;
}

std::unique_ptr<at::ObserverContext> hear(const at::RecordFunction&) {
  ++g_heard;
  return nullptr;
}

TORCH_LIBRARY(tiny, library) {
  library.def("many(Tensor(a!) x, int times) -> Tensor(a!)");
  library.impl("many", many);
}

}  // namespace

int main(int count, char** words) {
  const auto asked = [&](const char* what) {
    return count > 1 && std::strcmp(words[1], what) == 0;
  };
  if (asked("others")) {
    at::addGlobalCallback(
        at::RecordFunctionCallback(&hear).scopes({at::RecordScope::FUNCTION}));
  }
  const auto run = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("tiny::many", "")
                       .typed<at::Tensor&(at::Tensor&, std::int64_t)>();
  auto x = at::ones({4});
  for (int i = 0; i < 200; ++i) run.call(x, 20);
  if (asked("throws")) {
    try {
      run.call(x, 13);
    } catch (const std::runtime_error& error) {
      std::printf("caught %s\n", error.what());
    }
  }
  x.mul_(2);
  std::printf("recorded within %d\n", g_recorded);
  std::printf("heard %d\n", g_heard);
  std::printf("recorded after %d\n", at::isRecordFunctionEnabled() ? 1 : 0);
}
