/** Memory and mail of nodes. */
export type { MailDelta, MemoryDelta } from './check-delta.js';
export type { MailBoxShape } from './memory-param.js';
export type { MailEvents } from './messages.js';
export type { MailBoxRows, StateDelta } from './rows.js';
export { type MailBoxOptions, type MailBoxStream, type MailRows, SharedMailBox } from './shared-mailbox.js';
export type { MailBoxSnapshot } from './snapshot.js';
export type { StateStore, WholeFeatures } from './state-store.js';
export type { SyncCounts } from './sync-filter.js';
