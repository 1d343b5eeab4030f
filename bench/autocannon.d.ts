/** The part of autocannon, which has no types, that bench/serve.ts uses. */
declare module 'autocannon' {
  interface Histogram {
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  }

  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    readonly timeout?: number;
    readonly requests: readonly {
      readonly method: 'POST' | 'GET';
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly setupRequest?: (request: Record<string, unknown>) => Record<string, unknown>;
    }[];
  }

  interface Result {
    readonly requests: { readonly average: number; readonly total: number };
    /** Milliseconds. */
    readonly latency: Histogram;
    readonly errors: number;
    readonly timeouts: number;
    readonly '2xx': number;
    readonly non2xx: number;
  }

  export default function autocannon(options: Options): Promise<Result>;
}
