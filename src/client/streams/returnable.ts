// An async iterator whose `return` and signal end a `next` that waits. The `return` of an async generator waits
// for a `next` that is in flight.
//   - Aborting the signal stops the source at once, and `next` rejects with its reason. After `return`, `next`
//     answers that the iteration is done.

/** What an iterator of `returnable` is made of. */
export interface Returnable<Entry> {
  /** Called once. */
  entries(): AsyncGenerator<Entry, undefined, undefined>;
  /** Resolves when the first entry can be waited for. */
  ready(): Promise<void>;
  /** Frees everything, and makes what waits reject with the reason. */
  stop(reason: unknown): void;
}

interface Iterator<Entry> extends AsyncIterableIterator<Entry, undefined, undefined> {
  ready(): Promise<void>;
  return(): Promise<IteratorResult<Entry, undefined>>;
}

const DONE = { done: true, value: undefined } as const;

export function returnable<Entry>(
  source: Returnable<Entry>,
  signal: AbortSignal | undefined,
): Iterator<Entry> {
  const entries = source.entries();
  let isReturned = false;
  let isListening = false;
  const onAbort = (): void => source.stop(signal?.reason);
  const begin = (): void => {
    signal?.throwIfAborted();
    if (!isListening) signal?.addEventListener("abort", onAbort, { once: true });
    isListening = true;
  };
  const end = (): void => signal?.removeEventListener("abort", onAbort);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async ready() {
      begin();
      try {
        await source.ready();
      } catch (error) {
        end();
        throw error;
      }
    },
    async next() {
      if (isReturned) return DONE;
      try {
        begin();
        const result = await entries.next();
        if (result.done === true) end();
        return result;
      } catch (error) {
        end();
        if (isReturned) return DONE;
        throw error;
      }
    },
    // read-stream.3
    async return() {
      isReturned = true;
      end();
      source.stop(new Error("The iteration has ended."));
      await entries.return(undefined).catch(() => undefined);
      return DONE;
    },
  };
}
