/** Memory and mail of nodes. */
export { type MailBoxOptions, SharedMailBox } from './shared-mailbox.js';
export type { StateStore } from './state-store.js';
