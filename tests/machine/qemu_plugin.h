// qemu_plugin: the part of QEMU 7.2's plugin interface that is used here.
//
// Debian ships the interface in the executable but not its header; these
// declarations follow QEMU's documentation of version 1 of the interface.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using QemuPluginId = std::uint64_t;
using QemuMemoryInfo = std::uint32_t;

struct QemuBlock;        // a translation block
struct QemuInstruction;  // one guest instruction in it
struct QemuAddress;      // where an access went

struct QemuInfo {
  const char* target_name;
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  union {
    struct {
      int smp_vcpus;
      int max_vcpus;
    } system;
  };
};

enum QemuCallbackFlags { kQemuNoRegisters = 0 };
enum QemuDirection { kQemuLoadsAndStores = 3 };
enum QemuInlineOperation { kQemuAddU64 = 0 };

using QemuBlockCallback = void (*)(QemuPluginId, QemuBlock*);
using QemuCpuCallback = void (*)(QemuPluginId, unsigned cpu);
using QemuExecutionCallback = void (*)(unsigned cpu, void* user);
using QemuMemoryCallback = void (*)(unsigned cpu, QemuMemoryInfo,
                                    std::uint64_t address, void* user);
using QemuResetCallback = void (*)(QemuPluginId);
using QemuEndCallback = void (*)(QemuPluginId, void* user);

void qemu_plugin_reset(QemuPluginId, QemuResetCallback);
void qemu_plugin_register_vcpu_tb_trans_cb(QemuPluginId, QemuBlockCallback);
void qemu_plugin_register_vcpu_idle_cb(QemuPluginId, QemuCpuCallback);
void qemu_plugin_register_vcpu_resume_cb(QemuPluginId, QemuCpuCallback);
void qemu_plugin_register_atexit_cb(QemuPluginId, QemuEndCallback, void*);

std::size_t qemu_plugin_tb_n_insns(const QemuBlock*);
QemuInstruction* qemu_plugin_tb_get_insn(const QemuBlock*, std::size_t);
std::uint64_t qemu_plugin_insn_vaddr(const QemuInstruction*);
void qemu_plugin_register_vcpu_tb_exec_cb(QemuBlock*, QemuExecutionCallback,
                                          int flags, void* user);
void qemu_plugin_register_vcpu_tb_exec_inline(QemuBlock*, int operation,
                                              void* counter,
                                              std::uint64_t value);
void qemu_plugin_register_vcpu_mem_cb(QemuInstruction*, QemuMemoryCallback,
                                      int flags, int direction, void* user);

QemuAddress* qemu_plugin_get_hwaddr(QemuMemoryInfo, std::uint64_t address);
bool qemu_plugin_hwaddr_is_io(const QemuAddress*);
std::uint64_t qemu_plugin_hwaddr_phys_addr(const QemuAddress*);

}  // extern "C"

/// What qemu_plugin_mem_is_store() says, without the call.
inline bool is_store(QemuMemoryInfo info) { return (info >> 16 & 2) != 0; }
