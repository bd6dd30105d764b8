// machine_clock: asks the emulated machine's clock one question, from inside.
//
//   machine_clock now | stop | dilation X | model on|off |
//                 start [LOAD_PERIOD [STORE_PERIOD [RATE [STORE_HIT_PERIOD
//                 [SEQUENCES]]]]]
//
// Prints the machine's answer, one line of JSON. Exits with 1 if the machine
// refuses, with 2 if there is no clock to ask.
#include <cstdio>

#include "tests/machine/clock_client.h"

int main(int count, char** arguments) {
  std::string request;
  for (int i = 1; i < count; ++i) {
    request += i > 1 ? " " : "";
    request += arguments[i];
  }
  if (request.empty()) request = "now";
  const auto answer = thermocline::ask_clock(request);
  if (answer) {
    std::printf("%s\n", answer->c_str());
    return 0;
  }
  if (answer.error().code == thermocline::Error::Code::kInvalid) {
    std::printf("%s\n", answer.error().message.c_str());
    return 1;
  }
  std::fprintf(stderr, "%s\n", answer.error().message.c_str());
  return 2;
}
