/** `IdentityMemoryUpdater`: the memory stays as it is, for models whose state only counts who was met last. */
import type { Tensor } from '../../tensor/index.js';
import type { MailBoxRows } from '../mailbox/rows.js';
import { MemoryUpdater } from './memory-updater.js';

export class IdentityMemoryUpdater extends MemoryUpdater {
  constructor() {
    super({});
  }

  protected update(rows: MailBoxRows): Tensor {
    return rows.memory;
  }
}
