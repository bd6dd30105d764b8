// thermocline checkpoint: what a pool of checkpoints holds, whether it is
// whole, and one of them as a file for LibTorch or Python.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/commands.h"
#include "daemon/printable.h"
#include "daemon/torch_programs.h"
#include "daemon/units.h"
#include "daemon/work.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string pool;
  bool pieces = false;
  bool json = false;
};

std::string show_time(Nanos since_1970) {
  const std::time_t seconds = since_1970 / 1'000'000'000;
  std::tm parts = {};
  char text[32] = "?";
  if (localtime_r(&seconds, &parts) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  }
  return text;
}

std::string durability_line(const Durability& durability) {
  const std::string by =
      std::string("by ") + granularity_name(durability.granularity);
  if (durability.power_cut) return "durable " + by;
  return by +
         (durability.unknown ? ", not known to be durable: "
                             : ", NOT durable: ") +
         durability.why;
}

const char* standing(const CheckpointPool::Listed& one) {
  if (!one.trouble.empty()) return "unreadable";
  if (one.newest) return "newest";
  return one.committed ? "older" : "not committed";
}

Json json_of(const CheckpointPool::Listed& one) {
  Json out = {{"slot", one.slot}, {"standing", standing(one)}};
  if (!one.trouble.empty()) {
    out["trouble"] = one.trouble;
    return out;
  }
  const SlotHeader& header = one.contents.header;
  out["checkpoint"] = header.sequence;
  out["step"] = header.step;
  out["saved_at_ns"] = header.saved_at;
  out["bytes"] = header.payload_bytes;
  out["pieces"] = Json::array();
  for (const StoredPiece& piece : one.contents.pieces) {
    out["pieces"].push_back({{"name", printable(piece.name)},
                             {"type", printable(piece.type)},
                             {"shape", piece.shape},
                             {"bytes", piece.bytes}});
  }
  return out;
}

void print(const CheckpointPool::Listed& one, bool pieces) {
  if (!one.trouble.empty()) {
    std::printf("%10s %10s  slot %u: %s\n", "?", "?", one.slot,
                one.trouble.c_str());
    return;
  }
  const SlotHeader& header = one.contents.header;
  std::printf("%10ju %10ju  %-19s  %4u  %10s  %6zu  %s\n", header.sequence,
              header.step, show_time(header.saved_at).c_str(), one.slot,
              show_bytes(static_cast<double>(header.payload_bytes)).c_str(),
              one.contents.pieces.size(), standing(one));
  if (!pieces) return;
  for (const StoredPiece& piece : one.contents.pieces) {
    std::string shape;
    for (const auto length : piece.shape) {
      shape += (shape.empty() ? "" : "x") + std::to_string(length);
    }
    std::printf("    %-44s %-8s %-14s %10s\n", printable(piece.name).c_str(),
                printable(piece.type).c_str(), shape.c_str(),
                show_bytes(static_cast<double>(piece.bytes)).c_str());
  }
}

Status list(const Arguments& arguments) {
  const auto pool = CheckpointPool::open_to_read(arguments.pool);
  if (!pool) return pool.error();
  const auto all = pool->list();
  const Superblock& block = pool->superblock();
  if (arguments.json) {
    Json out = {
        {"pool", arguments.pool},
        {"slots", block.slots},
        {"slot_bytes", block.slot_bytes},
        {"granularity", granularity_name(pool->durability().granularity)},
        {"durable", pool->durability().power_cut},
        {"checkpoints", Json::array()}};
    if (const auto why = pool->durability().why; !why.empty()) {
      out["not_durable"] = why;
    }
    for (const auto& one : all) out["checkpoints"].push_back(json_of(one));
    std::printf("%s\n", out.dump(2).c_str());
    return {};
  }
  std::printf("%u slots of %s, %s\n", block.slots,
              show_bytes(static_cast<double>(block.slot_bytes)).c_str(),
              durability_line(pool->durability()).c_str());
  if (all.empty()) {
    std::printf("no checkpoint yet\n");
    return {};
  }
  std::printf("%10s %10s  %-19s  %4s  %10s  %6s\n", "checkpoint", "step",
              "saved", "slot", "size", "pieces");
  for (const auto& one : all) print(one, arguments.pieces);
  return {};
}

// What is wrong with the pool, and what can be had of it all the same.
Error damaged(const std::string& pool, const std::vector<std::string>& damage,
              const std::vector<std::string>& whole) {
  std::string message = pool + " is damaged";
  for (const auto& line : damage) message += "; " + line;
  std::string can;
  for (const auto& one : whole) can += (can.empty() ? "" : ", ") + one;
  return corrupt(message + "; can be restored: " + can);
}

// What restore() met on its way, and the slots that it had no need to look at.
std::vector<std::string> all_damage(std::vector<std::string> met,
                                    const std::vector<std::string>& troubles) {
  for (const auto& line : troubles) {
    const std::string slot = line.substr(0, line.find(':'));
    const bool told = std::ranges::any_of(met, [&](const std::string& one) {
      return one.starts_with(slot + ":") || one.starts_with(slot + " ");
    });
    if (!told) met.push_back(line);
  }
  return met;
}

// Fails when any slot that holds a checkpoint is damaged, or what tells where
// they are.
Status verify(const Arguments& arguments) {
  auto pool = CheckpointPool::open_to_read(arguments.pool);
  if (!pool) return pool.error();
  const auto all = pool->list();
  Work work(false, OnStop::kLeave);
  Json slots = Json::array();
  std::vector<std::string> troubles, restorable;
  double done = 0;
  for (const auto& one : all) {
    work.show(done++ / static_cast<double>(all.size()),
              "checking slot " + std::to_string(one.slot));
    const auto whole = pool->verify(one.slot);
    work.clear();
    // A job began to save there meanwhile.
    if (!whole && whole.error().code == Error::Code::kNotFound) continue;
    Json told{{"slot", one.slot}, {"whole", whole.has_value()}};
    if (whole) {
      const SlotHeader& header = one.contents.header;
      told["checkpoint"] = header.sequence;
      told["step"] = header.step;
      restorable.push_back("step " + std::to_string(header.step) +
                           " (export --slot " + std::to_string(one.slot) + ")");
    } else {
      told["trouble"] = whole.error().message;
      troubles.push_back(whole.error().message);
    }
    slots.push_back(std::move(told));
    if (arguments.json) continue;
    if (whole) {
      std::printf("slot %u: checkpoint %ju, step %ju, whole\n", one.slot,
                  one.contents.header.sequence, one.contents.header.step);
    } else {
      std::printf("%s\n", whole.error().message.c_str());
    }
  }
  const auto back = pool->restore();
  if (!back) return back.error().within(arguments.pool);
  const auto damage = all_damage(back->damage, troubles);
  if (arguments.json) {
    const Json out{{"pool", arguments.pool},
                   {"checked", std::move(slots)},
                   {"goes_on_from_step", back->step},
                   {"damage", damage}};
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    std::printf("a job goes on from step %ju\n", back->step);
  }
  if (damage.empty()) return {};
  return damaged(arguments.pool, damage, restorable);
}

CLI::App* add_part(CLI::App& under, const char* name, const char* help,
                   const std::shared_ptr<Arguments>& arguments,
                   Status (*work)(const Arguments&), Outcome& outcome) {
  auto* part = under.add_subcommand(name, help);
  part->add_option("pool", arguments->pool, "pool of checkpoints")
      ->type_name("POOL")
      ->required();
  part->callback([arguments, work, &outcome] {
    if (auto ok = work(*arguments); !ok) outcome.fail(ok.error());
  });
  return part;
}

}  // namespace

void add_checkpoint(CLI::App& root, Outcome& outcome) {
  auto arguments = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "checkpoint", "List, verify or export the checkpoints of a pool.");
  command->require_subcommand(1);
  auto* listing =
      add_part(*command, "list", "What the pool holds, newest first.",
               arguments, list, outcome);
  listing->add_flag("--pieces", arguments->pieces, "with all names");
  listing->add_flag("--json", arguments->json, "as JSON");
  auto* verifying = add_part(
      *command, "verify",
      "Check every byte. Ends with 1 when any checkpoint that should be there "
      "is damaged, also an older one, and says which can be restored. A job "
      "may be saving meanwhile; the slot that it writes may then be told as "
      "damaged.",
      arguments, verify, outcome);
  verifying->add_flag("--json", arguments->json, "as JSON");
  auto* exporting = command->add_subcommand(
      "export", "Write one as a file for torch.load; see export --help.");
  exporting->prefix_command();
  exporting->set_help_flag();  // the program answers --help
  exporting->callback([exporting, &outcome] {
    outcome.fail(
        become("thermocline-export-checkpoint", exporting->remaining()));
  });
}

}  // namespace thermocline
