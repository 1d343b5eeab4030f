/** `IdentityMemoryUpdater`: the memory stays as it is, for models whose state only counts who was met last. */
import type { Tensor } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { MailBoxRows } from '../mailbox/rows.js';
import { MemoryUpdater, type MemoryUpdaterOptions } from './memory-updater.js';

export class IdentityMemoryUpdater extends MemoryUpdater {
  /** The rules about time still say which time the memory is of. */
  constructor(options: Pick<MemoryUpdaterOptions, 'timeInput' | 'emptyMail'> = {}) {
    super(options);
    checkOptionNames('IdentityMemoryUpdater', options, { timeInput: true, emptyMail: true });
  }

  protected update(rows: MailBoxRows): Tensor {
    return rows.memory;
  }
}
