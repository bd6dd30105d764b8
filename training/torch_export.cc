#include "training/torch_export.h"

#include <algorithm>
#include <map>

#include "traces/libtorch.h"
#include "training/torch_checkpoint.h"

// These, too, have the macro that traces/libtorch.h keeps apart.
#pragma push_macro("CHECK")
#undef CHECK
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace thermocline {
namespace {

using Named = std::vector<std::pair<std::string, torch::Tensor>>;

Result<Named> tensors_of(const Restored& from, const std::string& prefix) {
  Named out;
  for (const Piece& piece : from.pieces) {
    if (!piece.name.starts_with(prefix)) continue;
    auto tensor = tensor_over(piece);
    if (!tensor) return tensor.error();
    out.emplace_back(piece.name.substr(prefix.size()), *std::move(tensor));
  }
  if (out.empty()) {
    return not_found(
        "nothing in the checkpoint has a name that begins with \"" + prefix +
        "\"; thermocline checkpoint list --pieces has the names");
  }
  return out;
}

constexpr std::size_t kShown = std::size_t{8} << 20;

// Writes on, and tells how far it is. Archives cannot be left in the middle:
// once it was told to stop, what comes is dropped.
class WatchedSink {
 public:
  WatchedSink(const FileSink& to, const Watch& watch, const Named& tensors)
      : to_(to), watch_(watch) {
    for (const auto& [name, tensor] : tensors) all_ += tensor.nbytes();
  }
  void write(const void* bytes, std::size_t size) {
    const auto* from = static_cast<const char*>(bytes);
    while (size > 0 && go_on_) {
      const auto now = std::min(size, kShown);
      to_(from, now);
      from += now;
      size -= now;
      done_ += now;
      // Names and headers come on top of the tensors' bytes.
      if (watch_) go_on_ = watch_(std::min(done_, all_), all_);
    }
  }
  bool whole() const { return go_on_; }

 private:
  const FileSink& to_;
  const Watch& watch_;
  Bytes all_ = 0;
  Bytes done_ = 0;
  bool go_on_ = true;
};

// A module's archive: what is between the dots of names, level by level.
struct Tree {
  std::map<std::string, torch::Tensor> leaves;
  std::map<std::string, Tree> branches;

  // Returns: whether it fits in.
  bool add(const std::string& name, const torch::Tensor& tensor) {
    const auto dot = name.find('.');
    if (dot == std::string::npos) {
      return !branches.contains(name) && leaves.emplace(name, tensor).second;
    }
    const std::string first = name.substr(0, dot);
    if (leaves.contains(first)) return false;
    return branches[first].add(name.substr(dot + 1), tensor);
  }
  void write(torch::serialize::OutputArchive& to) const {
    // As parameters all: torch::load() asks for a buffer by its name as well.
    for (const auto& [name, tensor] : leaves) to.write(name, tensor);
    for (const auto& [name, branch] : branches) {
      torch::serialize::OutputArchive one(to.compilation_unit());
      branch.write(one);
      to.write(name, one);
    }
  }
};

// As torch::pickle_save() does, but for two things: it does not make all of
// the file in memory first, and aggregates get no type tags, which only Python
// with all of torch.jit, and weights_only never, would take.
void write_dict(const Named& tensors, const FileSink& sink) {
  c10::Dict<std::string, torch::Tensor> dict;
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor);
  std::string pickled;
  torch::jit::Pickler pickler(
      [&](const char* bytes, std::size_t size) { pickled.append(bytes, size); },
      nullptr, nullptr, nullptr, nullptr, false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();
  caffe2::serialize::PyTorchStreamWriter file(
      [&](const void* bytes, std::size_t size) {
        sink(bytes, size);
        return size;
      });
  file.writeRecord("data.pkl", pickled.data(), pickled.size());
  std::size_t number = 0;
  for (const auto& tensor : pickler.tensorData()) {
    const auto data = torch::jit::getWriteableTensorData(tensor);
    file.writeRecord("data/" + std::to_string(number++), data.data(),
                     data.sizeInBytes());
  }
  file.writeEndOfFile();
}

void write_module(const Tree& tree, const FileSink& sink) {
  torch::serialize::OutputArchive archive;
  tree.write(archive);
  archive.save_to([&](const void* bytes, std::size_t size) {
    sink(bytes, size);
    return size;
  });
}

}  // namespace

Result<std::size_t> export_tensors(const Restored& from,
                                   const std::string& path,
                                   const ExportOptions& options) {
  const auto tensors = tensors_of(from, options.prefix);
  if (!tensors) return tensors.error();
  const bool module = options.format == ExportFormat::kModule;
  Tree tree;
  for (const auto& [name, tensor] : *tensors) {
    if (!module || tree.add(name, tensor)) continue;
    return invalid("\"" + name +
                   "\" is both a tensor and a module; a file for a module "
                   "takes one module: give its --prefix");
  }
  const auto written = replace_file(
      path,
      [&](const FileSink& sink) {
        WatchedSink watched(sink, options.watch, *tensors);
        const FileSink to = [&](const void* bytes, std::size_t size) {
          watched.write(bytes, size);
        };
        if (module) write_module(tree, to);
        if (!module) write_dict(*tensors, to);
        return watched.whole();
      },
      options.existing);
  if (!written) return written.error();
  return tensors->size();
}

}  // namespace thermocline
