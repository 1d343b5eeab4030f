// Rows read from an open file to given rows in memory.
#pragma once

#include "support/common.h"

namespace skein {

// Row out_rows[i] of `out` = row ids[i] of the file; ids ascending, rows of row_bytes bytes. Rows less than gap_bytes apart
// are read in one transfer. A file opened with O_DIRECT is read by whole pages into memory that starts at a page.
void read_rows(i64 file, const i32* ids, const i32* out_rows, void* out, i64 n, i64 row_bytes, i64 gap_bytes);

}  // namespace skein
