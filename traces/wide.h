// THERMOCLINE_WIDE: a pass over many objects, for the widest registers there
// are.
//
// Such a function is compiled for several processors, and what the one at hand
// can run is chosen when the program starts. All give the same bits: none fuses
// a product and a sum (-ffp-contract=off, in the CMakeLists.txt of those who
// use it). Not under a sanitizer, whose own start comes after that choice.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !defined(__GNUC__) || defined(__clang__) || !defined(__x86_64__)
#define THERMOCLINE_WIDE
#else
#define THERMOCLINE_WIDE \
  __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#endif
