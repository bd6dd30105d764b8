// LibTorch, made to live with traces/result.h: both have a macro CHECK, and
// ours is the one that counts, whichever comes first. Include from .cc files
// only: it takes ten seconds to parse.
#pragma once

#pragma push_macro("CHECK")
#undef CHECK
#include <torch/torch.h>
#undef CHECK
#pragma pop_macro("CHECK")
