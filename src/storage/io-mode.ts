/**
 * The transfer mode of table files: `auto` bypasses the page cache where it can, `buffered` never does. In a separate
 * file, so that the public types do not depend on those of Node.js.
 */
export type IoMode = 'auto' | 'buffered';
