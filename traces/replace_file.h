// replace_file: writes a file whole, or leaves what was there.
//
// Whoever reads the path, also after a crash, finds the old bytes or the new
// ones, never a part. What is no file (a device, a pipe) is never replaced; a
// link to a file is, itself: whoever put it there may be somebody else.
// Thread safety: any thread; of two writers one wins.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "traces/result.h"

namespace thermocline {

enum class Existing { kReplace, kKeep };

/// What commands do with a file that is there: `forced` is their --force.
constexpr Existing keep_unless(bool forced) {
  return forced ? Existing::kReplace : Existing::kKeep;
}
/// The refusal to replace it.
Error exists_already(const std::string& path);

/// Whether `path` could be written now: for those who would rather be refused
/// before long work than after it. Errors: kInvalid (what is no file; with
/// kKeep, what exists), kNotFound, kPermission (its folder), each with the
/// remedy.
Status may_write(const std::string& path, Existing existing);

/// Writes a temporary file beside `path`, waits until it is on stable storage
/// and renames it. With kKeep, a file of that name is left alone (kInvalid).
/// Errors: kNotFound, kPermission, kIo, kInvalid (what is no file), naming the
/// path; nothing is left then.
Status replace_file(const std::string& path, const std::string& bytes,
                    Existing existing = Existing::kReplace);

/// Takes the next bytes of a file. Once writing has failed it ignores them.
using FileSink = std::function<void(const void* bytes, std::size_t size)>;

/// The same for what need not be in memory at once: `produce` passes it to the
/// sink. When it returns false, it was told to stop: nothing is left, and that
/// is kInterrupted. When it throws, nothing is left either.
Status replace_file(const std::string& path,
                    const std::function<bool(const FileSink&)>& produce,
                    Existing existing = Existing::kReplace);

/// Renames a finished file to `path`; with kKeep not over what is there
/// (EEXIST). Returns: 0, or errno.
int put_in_place(const std::string& temporary, const std::string& path,
                 Existing existing);

/// Waits until the names in the folder of `path` are on stable storage; what a
/// rename did is durable after that. Returns: 0, or errno.
int sync_folder_of(const std::string& path);

/// The error for errno `code`, met when trying to `verb` the file at `path`.
Error file_failure(const std::string& verb, const std::string& path, int code);

}  // namespace thermocline
