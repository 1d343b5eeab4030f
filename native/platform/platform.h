// All calls of the operating system that the addon makes; everything else is plain C++17.
//
// `file` is a descriptor as Node.js numbers it. On Windows such a number means something to the process's own libuv only,
// from which the handle is obtained.
#pragma once

#include <string>

#include "support/common.h"

namespace skein {
namespace platform {

// Memory that starts at a multiple of `alignment` (a power of two); null where there is none. `bytes` is a multiple of it.
void* allocate_aligned(size_t alignment, size_t bytes);
void free_aligned(void* data);

// Requests huge pages for a block that holds at least `least` of them. Only advice: a system that does not follow it
// loses nothing else.
void advise_huge_pages(void* data, size_t bytes, size_t least);

// Gives the whole pages of a block back; contents are lost, the addresses stay. Returns how many bytes, 0 where that is not
// possible.
i64 release_pages(void* data, size_t bytes);

// Waits for the only lock on an open file, or gives it up. Returns what went wrong, empty if nothing did. The system gives
// up the locks of a process that has ended.
std::string lock_file(i64 file, bool lock);

// Reads up to `bytes` bytes from `position` on without moving the file's own position. Returns how many came, 0 at the end of
// the file. Throws std::runtime_error with the system's message.
i64 read_at(i64 file, void* to, i64 bytes, i64 position);

// Keeps this library loaded until the process ends: its threads outlive every environment that loaded it.
void pin_library();

// Lets other threads go before the calling one.
void lower_thread_priority();

}  // namespace platform
}  // namespace skein
