// The words for tensors' types, and tensors made from pieces.
#include <cstring>
#include <utility>

#include "traces/libtorch.h"
#include "training/torch_checkpoint.h"
#include "training/torch_pieces.h"

namespace thermocline {
namespace {

constexpr std::pair<torch::ScalarType, const char*> kTypes[] = {
    {torch::kFloat32, "float32"},
    {torch::kFloat64, "float64"},
    {torch::kFloat16, "float16"},
    {torch::kBFloat16, "bfloat16"},
    {torch::kInt8, "int8"},
    {torch::kInt16, "int16"},
    {torch::kInt32, "int32"},
    {torch::kInt64, "int64"},
    {torch::kUInt8, "uint8"},
    {torch::kBool, "bool"},
    {torch::kComplexFloat, "complex64"},
    {torch::kComplexDouble, "complex128"},
};

}  // namespace

std::string tensor_type_name(const torch::Tensor& tensor) {
  for (const auto& [type, name] : kTypes) {
    if (tensor.scalar_type() == type) return name;
  }
  return "bytes";
}

Status check_savable(const std::string& name, const torch::Tensor& tensor) {
  const auto refuse = [&](const std::string& is, const char* remedy) {
    return unsupported("\"" + name + "\" is " + is +
                       ", which cannot be saved; " + remedy);
  };
  if (tensor.is_nested()) {
    return refuse("nested", "save the tensors that it is made of (unbind())");
  }
  if (tensor.layout() != torch::kStrided) {
    return refuse("sparse, or of another layout than a plain tensor's",
                  "save its to_dense(), or its indices and values");
  }
  if (tensor.is_quantized()) {
    return refuse("quantized", "save its int_repr(), scale and zero point");
  }
  if (tensor.is_meta()) {
    return refuse("on the device meta, without memory",
                  "give it memory first (empty_like() on the CPU)");
  }
  if (tensor_type_name(tensor) == "bytes") {
    return refuse("of type " + std::string(tensor.dtype().name()),
                  "convert it first");
  }
  return {};
}

Result<torch::Tensor> tensor_over(const Piece& piece) {
  torch::ScalarType wanted = torch::kUInt8;
  std::vector<std::int64_t> shape{
      static_cast<std::int64_t>(piece.bytes.size())};
  if (piece.type != "bytes") {
    bool known = false;
    for (const auto& [type, name] : kTypes) {
      if (piece.type != name) continue;
      wanted = type;
      known = true;
    }
    if (!known) {
      return invalid("\"" + piece.name + "\" is of type " + piece.type +
                     ", which no tensor has; read its bytes as they are");
    }
    shape = piece.shape;
  }
  Bytes bytes = c10::elementSize(wanted);
  for (const auto length : shape) {
    if (length < 0) bytes = ~Bytes{0};
    if (__builtin_mul_overflow(bytes, static_cast<Bytes>(length), &bytes)) {
      bytes = ~Bytes{0};
    }
  }
  if (bytes != piece.bytes.size()) {
    return invalid("\"" + piece.name + "\" has " +
                   std::to_string(piece.bytes.size()) +
                   " bytes, which is not what its shape takes; whoever saved "
                   "it gave the wrong one");
  }
  // LibTorch knows no tensor that may not be written.
  auto* data = const_cast<std::uint8_t*>(piece.bytes.data());
  return torch::from_blob(data, shape, wanted);
}

Result<torch::Tensor> tensor_of(const Piece& piece) {
  const auto there = tensor_over(piece);
  if (!there) return there.error();
  return there->clone();
}

}  // namespace thermocline
