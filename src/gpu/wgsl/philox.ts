/**
 * Philox4x32-10 in WGSL, with the bits of `util/philox.ts` and of the C++ kernels: `philox(counter, key)` returns four
 * words, `randomWord(key, w)` one of a key's sequence, `rowWord(key, id, width, c)` the one of column c in the row with
 * that id. WGSL has no 64-bit integers, so products are computed from 16-bit halves.
 */
export const philoxFunctions = /* wgsl */ `
fn mulHigh(a: u32, b: u32) -> u32 {
  let aLow = a & 0xffffu;
  let aHigh = a >> 16u;
  let bLow = b & 0xffffu;
  let bHigh = b >> 16u;
  let middle = aHigh * bLow + ((aLow * bLow) >> 16u);
  let middleLow = aLow * bHigh + (middle & 0xffffu);
  return aHigh * bHigh + (middle >> 16u) + (middleLow >> 16u);
}

fn philox(counter: vec4<u32>, start: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = start;
  for (var round = 0u; round < 10u; round++) {
    let high0 = mulHigh(0xd2511f53u, c.x);
    let low0 = 0xd2511f53u * c.x;
    let high1 = mulHigh(0xcd9e8d57u, c.z);
    let low1 = 0xcd9e8d57u * c.z;
    c = vec4<u32>(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
    k = k + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}

// Word w of the sequence of key (seedLow, seedHigh, streamLow, streamHigh), w below 2^32.
fn randomWord(key: vec4<u32>, w: u32) -> u32 {
  return philox(vec4<u32>(w >> 2u, 0u, key.z, key.w), key.xy)[w & 3u];
}

// Word id · width + c, which may exceed 2^32; ids are unsigned.
fn rowWord(key: vec4<u32>, id: i32, width: u32, c: u32) -> u32 {
  let low = u32(id) * width + c;
  let high = mulHigh(u32(id), width) + select(0u, 1u, low < c);
  return philox(vec4<u32>((low >> 2u) | (high << 30u), high >> 2u, key.z, key.w), key.xy)[low & 3u];
}
`;
