import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { availableCpus, cpuQuota } from './cpus.js';

/** The quota on a system with these files. */
const quotaOf = (files: Readonly<Record<string, string>>): number | null =>
  cpuQuota((path) => files[path] ?? null);

describe('cpuQuota', () => {
  it('reads cgroup v2', () => {
    const own = { '/proc/self/cgroup': '0::/\n' };
    expect(quotaOf({ ...own, '/sys/fs/cgroup/cpu.max': '150000 100000\n' })).toBe(1.5);
    expect(quotaOf({ ...own, '/sys/fs/cgroup/cpu.max': 'max 100000\n' })).toBeNull();
  });

  it('takes the smallest of a group and those above it', () => {
    const files = {
      '/proc/self/cgroup': '0::/pods/a:b\n',
      '/sys/fs/cgroup/pods/a:b/cpu.max': '400000 100000',
      '/sys/fs/cgroup/pods/cpu.max': '50000 25000',
    };
    expect(quotaOf(files)).toBe(2);
    expect(quotaOf({ ...files, '/sys/fs/cgroup/pods/a:b/cpu.max': '10000 100000' })).toBe(0.1);
  });

  it('reads cgroup v1, also where the path is that of the host', () => {
    for (const controllers of ['cpu', 'cpu,cpuacct', 'cpuacct,cpu']) {
      const own = { '/proc/self/cgroup': `5:memory:/x\n4:${controllers}:/docker/1f\n0::/\n` };
      const base = `/sys/fs/cgroup/${controllers}`;
      const period = { [`${base}/cpu.cfs_period_us`]: '100000\n' };
      expect(quotaOf({ ...own, ...period, [`${base}/cpu.cfs_quota_us`]: '300000\n' })).toBe(3);
      expect(quotaOf({ ...own, ...period, [`${base}/cpu.cfs_quota_us`]: '-1\n' })).toBeNull();
    }
  });

  it('finds no limit where there are no such files, or other words in them', () => {
    expect(quotaOf({})).toBeNull();
    for (const text of ['', 'max', '0 0', 'a b'])
      expect(quotaOf({ '/proc/self/cgroup': '0::/', '/sys/fs/cgroup/cpu.max': text })).toBeNull();
  });
});

it('availableCpus is the smaller of processors and quota, rounded up, and at least 1', () => {
  const processors = availableParallelism();
  expect(availableCpus(null)).toBe(processors);
  expect(availableCpus(0.1)).toBe(1);
  expect(availableCpus(1.2)).toBe(Math.min(2, processors));
  expect(availableCpus(4096)).toBe(processors);
});
