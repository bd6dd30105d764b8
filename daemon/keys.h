// Keys: the CURVE key pairs by which a service and its clients know each
// other over TCP (ZeroMQ's rfc 25 and 26; keys are Z85 text, 40 characters).
//
// A directory holds one party's pair, `secret.key` (0600) and `public.key`;
// a client's also `server.key`, the public key of the service, which its
// owner copied there. Thread safety: no state.
#pragma once

#include <string>

#include "traces/result.h"

namespace thermocline {

struct KeyPair {
  std::string public_key;
  std::string secret_key;
};

/// Makes a pair and writes it into the directory, which is made (0700) if it
/// is not there. Returns the public key. Errors: kInvalid when there is a pair
/// already, kIo, kUnsupported (a ZeroMQ without CURVE).
Result<std::string> make_keys(const std::string& directory);

/// Errors: kNotFound, kCorrupt (not a key, or the two do not belong together),
/// kPermission when others than its owner can read the secret.
Result<KeyPair> read_keys(const std::string& directory);

/// The one key in a file. Errors: kNotFound, kCorrupt.
Result<std::string> read_key(const std::string& path);

/// True for 40 characters of Z85 that decode.
bool is_key(const std::string& text);

/// $THERMOCLINE_KEYS, else /etc/thermocline/keys for root, else
/// ~/.config/thermocline.
std::string default_keys();

}  // namespace thermocline
