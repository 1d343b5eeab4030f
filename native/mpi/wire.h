// The format of messages between ranks. Every message starts with a header on the control communicator; a payload that fits into
// the rest of the slot comes with it, a longer one follows on the data communicator in chunks that MPI's int counts can
// name. Matching by (space, peer, tag) is done here and not by MPI: tags may then be any whole number (MPI promises
// 15 bits), a wrong length is an error with both lengths and not a truncation, and a time-out can list what did arrive.
//
// All ranks run the same program on the same kind of machine: fields are in native byte order.
#pragma once

#include <cstdint>

namespace skein_mpi {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Leaving: the sender's program has ended, and its engine only waits to close.
enum class Kind : u8 { Message, RowRequest, Heartbeat, Abort, Leaving };

// Messages of different spaces never match, even with equal tags.
enum class Space : u8 { User, Collective, Reply };

enum class Code : u8 { Send, Recv, Barrier, Broadcast, Exchange, AllReduce, GetRows, PutRows, AddRows, Close, Window };

enum class Type : u8 { F32, F64, I32, Byte };
enum class Reduction : u8 { Sum, Max, Min };

constexpr u32 kMagic = 0x534b4e32;  // "SKN2"

struct Header {
  u32 magic = kMagic;
  Kind kind = Kind::Message;
  Space space = Space::User;
  Code code = Code::Send;
  Type type = Type::Byte;
  u8 reduction = 0;
  u8 failed = 0;      // the inline bytes are the text of an error
  u8 is_inline = 1;
  u8 reserved = 0;
  i32 payload_tag = 0;  // MPI tag of the payload when it does not come with the header
  i64 tag = 0;
  i64 bytes = 0;        // length of the payload
  i64 detail = 0;       // broadcast: the root; row requests: number of ids
  u64 table = 0;        // row requests, windows: hash of the table's name
  i64 width = 0;        // row requests, windows: elements of a row; broadcast, reductions: total length in bytes
};

constexpr i64 kSlotBytes = 4096;
constexpr i64 kInlineBytes = kSlotBytes - static_cast<i64>(sizeof(Header));
constexpr int kSlots = 32;
constexpr int kChannels = 4;
constexpr int kPayloadTags = 32768;  // MPI guarantees tags up to 32767

}  // namespace skein_mpi
