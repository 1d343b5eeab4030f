/**
 * How table files are moved: `auto` passes by the page cache where it can, `buffered` never does. Apart from what does it,
 * so that the public types need none of Node's.
 */
export type IoMode = 'auto' | 'buffered';
