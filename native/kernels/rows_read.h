// Rows read from an open file to their places in memory.
#pragma once

#include "common.h"

namespace skein {

// Row places[i] of `out` = row ids[i] of the file; ids ascending, rows of rowBytes bytes. Rows that lie less than gapBytes apart
// are read in one transfer. A file opened with O_DIRECT is read by whole pages into memory that starts at a page.
void read_rows(i64 file, const i32* ids, const i32* places, void* out, i64 n, i64 rowBytes, i64 gapBytes);

}  // namespace skein
