/** Models over streams of events that last. */
export type { DurableStream, SourceBatch } from './durable-stream.js';
export { openStream } from './open-stream.js';
export {
  type FollowFileOptions,
  type FollowLinesOptions,
  followFile,
  followInput,
} from './sources/follow-lines.js';
export { type FollowNatsOptions, followNats } from './sources/follow-nats.js';
export type { FieldMapping, SourceMessage, UnreadableText } from './sources/messages.js';
export { StreamBusyError, StreamStoppedError } from './stream-errors.js';
export type {
  NewNodesRule,
  QuarantinedEvent,
  SourceStatus,
  StreamEvent,
  StreamNode,
  StreamOptions,
  StreamQuality,
  StreamSource,
  StreamStatus,
} from './types.js';
