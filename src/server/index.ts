/** Trained models behind HTTP, and as tools of language models. */
export type { RequestRecord } from './app.js';
export { defaultLimits, type ServeLimits } from './limits.js';
export { type McpOptions, serveMcp } from './mcp.js';
export { parseRunPaths, type RunPath } from './model-sources.js';
export { type ModelSourceOptions, modelSource } from './open-source.js';
export { type RunningServer, serve } from './serve.js';
export type { ServeOptions } from './serve-options.js';
export type { ModelSource } from './served-model.js';
