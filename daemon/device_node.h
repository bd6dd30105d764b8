// device_node: the memory node that a file's device is attached to.
//
// A file on a DIMM of the other socket is as far as that socket is:
// `thermocline probe --path` measures it from the CPUs nearest to it. Source:
// numa_node of the device, or of what it hangs on, in sysfs (Documentation/ABI,
// sysfs-bus-pci and sysfs-bus-nvdimm). Thread safety: pure, but for reading
// files.
#pragma once

#include <optional>
#include <string>

namespace thermocline {

enum class DeviceKind { kBlock, kCharacter };

/// `root` stands for "/". Returns: nothing where the kernel does not say.
std::optional<int> device_node(const std::string& root, DeviceKind kind,
                               unsigned major, unsigned minor);

/// Of a character device itself, else of what the folder or file lies on.
/// Nothing also for what lies on no device of one node (tmpfs, overlayfs, NFS).
std::optional<int> node_of_path(const std::string& root,
                                const std::string& path);

}  // namespace thermocline
