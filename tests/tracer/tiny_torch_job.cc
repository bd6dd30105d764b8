// Training steps in C++, linked with LibTorch: to be observed unmodified.
//   tiny_torch_job [STEPS | maps]
#include <ATen/ATen.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "maps") == 0) {
    std::cout << std::ifstream("/proc/self/maps").rdbuf();
    return 0;
  }
  const int steps = count > 1 ? std::atoi(words[1]) : 3;
  at::manual_seed(3);
  auto weight = at::randn({16, 4}).requires_grad_();
  const auto x = at::randn({8, 16});
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    const auto result = x.matmul(weight).tanh().pow(2).mean();
    result.backward();
    weight.data().sub_(weight.grad(), 0.1);
    weight.mutable_grad() = at::Tensor();
    loss = result.item<double>();
    if (step < 3) std::printf("loss %a\n", loss);
  }
  std::printf("last loss %a\n", loss);
}
