import { nativeStatus } from 'skein/native';
import { it } from 'vitest';
it('x', () => { console.log(nativeStatus); });
