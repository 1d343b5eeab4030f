// CRC-32 as in zip, gzip and PNG (reflected polynomial 0xedb88320): the checksum of table partitions.
#pragma once

#include "support/common.h"

namespace skein {

// The checksum of n bytes, or of what `before` is the checksum of followed by those bytes.
i64 crc32(const u8* bytes, i64 n, i64 before);

}  // namespace skein
