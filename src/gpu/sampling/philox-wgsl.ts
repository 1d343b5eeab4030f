/**
 * The sampler's random words in WGSL: draw d of node v is word d & 3 of Philox's block (v, d >> 2, tag ^ key[2], step ^
 * key[3]), as on the CPU.
 */
import { philoxFunctions } from '../wgsl/philox.js';

export const philoxWgsl = /* wgsl */ `
${philoxFunctions}
var<private> wordsNode: u32;
var<private> wordsDrawn: u32;
var<private> wordsBlock: vec4<u32>;

fn restartWords(node: u32) {
  wordsNode = node;
  wordsDrawn = 0u;
}

fn nextWord() -> u32 {
  let lane = wordsDrawn & 3u;
  if (lane == 0u) {
    wordsBlock = philox(vec4<u32>(wordsNode, wordsDrawn >> 2u, p.c2, p.c3), vec2<u32>(p.k0, p.k1));
  }
  wordsDrawn++;
  return wordsBlock[lane];
}
`;
