import type { EventKernels } from '../event-kernels.js';
import { PairQuery } from './event-describe.js';
import { hasRoom, observeEvent } from './event-observe.js';

export const eventTwins: Pick<EventKernels, 'eventStatistics'> = {
  eventStatistics(store) {
    const { src, dst, times, numEvents, querySrc, queryTimes, queryBefore, numQueries } = store;
    let q = 0;
    for (let event = 0; ; event++) {
      for (; q < numQueries && queryBefore[q] <= event; q++) {
        const query = new PairQuery(store, querySrc[q], queryTimes[q]);
        for (let i = store.offsets[q]; i < store.offsets[q + 1]; i++) query.describe(store.candidates[i], i);
        query.close();
      }
      if (event === numEvents || !hasRoom(store)) return event;
      observeEvent(store, src[event], dst[event], times[event]);
    }
  },
};
