// Stream hubs: all readers of one stream in this process share their reads.
//   - stream-hub.1: A hub exists while its stream has readers. Each reader has only an offset. The hub keeps the
//     pages that were read last, at most PAGES_MAX and CACHE_BYTES_MAX. With a single reader it keeps one page.
//   - stream-hub.2: A change of the stream wakes the readers that wait at its end. They share one read, because a
//     read that begins after the last change answers all readers with the same offset.
//   - stream-hub.3: A reader's first page is read after the reader has joined. So a reader never begins with
//     pages of a deleted instance with the same id, nor with entries that were trimmed before.
//   - stream-hub.4: Chunks never change, so pages are never refreshed. The state of items may change only while
//     it is "open"; pages end before the first open chunk. Only a page that was just read tells whether the
//     stream is over.
//   - stream-hub.5: The failure of a call makes its items void, without an entry in the stream. The next turn of the
//     instance takes the failure: for settled readers, a turn that this process commits counts as a change.

import { ChurningMap } from "../../core/collections/churning-map.ts";
import type { StreamChunk, StreamPage, StreamRequest } from "../../core/provider/streams.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { Changes } from "../changes.ts";
import { notFound, type Store } from "../store.ts";

const PAGE_CHUNKS_MAX = 500;
const PAGE_BYTES_MAX = 64 * 1024;
const PAGES_MAX = 64;
const CACHE_BYTES_MAX = 1024 * 1024;
/** What a chunk needs in memory besides its texts. */
const CHUNK_BYTES = 200;

/** The stream that a hub reads. */
export type HubTarget = Pick<StreamRequest, "id" | "name" | "settled">;

/** What the store answered, and when the hub asked. */
export interface ReadPage extends StreamPage {
  /** The hub's number of changes when the read began. */
  readonly changes: number;
  readonly bytes: number;
  /** Whether the stream is known to go on after this page: it was not over when the page was read. */
  readonly goesOn: boolean;
}

interface Read {
  readonly changes: number;
  readonly page: Promise<ReadPage>;
}

export class StreamHub {
  static readonly #all = new WeakMap<Provider, ChurningMap<string, StreamHub>>();

  /** The hub of a stream. Call `leave` when the reader is done. */
  static join(store: Store, target: HubTarget): StreamHub {
    let hubs = this.#all.get(store.provider);
    if (hubs === undefined) this.#all.set(store.provider, (hubs = new ChurningMap()));
    const address = JSON.stringify([target.id, target.name, target.settled]);
    let hub = hubs.get(address);
    if (hub === undefined) {
      const all = hubs;
      hub = new StreamHub(store, target, () => all.delete(address));
      hubs.set(address, hub);
    }
    hub.#join();
    return hub;
  }

  readonly #store: Store;
  readonly #target: HubTarget;
  readonly #onUnused: () => void;
  readonly #unwatch: () => void;
  /** Of a hub of settled readers (stream-hub.5). */
  #turns: { readonly key: number; readonly unwatch: () => void } | null = null;
  #readers = 0;
  #changes = 0;
  /** Reads in flight, by offset. */
  readonly #reads = new Map<number, Read>();
  /** The last read that found nothing. It holds until the next change. */
  #nothing: { readonly offset: number; readonly page: ReadPage } | null = null;
  /** The oldest first. */
  #pages: ReadPage[] = [];
  #bytes = 0;
  /** Readers that wait for the next change. */
  #waiting = new Set<() => void>();

  private constructor(store: Store, target: HubTarget, onUnused: () => void) {
    this.#store = store;
    this.#target = target;
    this.#onUnused = onUnused;
    const watched = target.settled ? "settled" : "streams";
    this.#unwatch = Changes.of(store.provider).watch(target.id, () => this.#onChange(), watched);
  }

  #join(): void {
    this.#readers++;
    this.#changes++; // stream-hub.3
  }

  leave(): void {
    this.#readers--;
    if (this.#readers > 0) return;
    this.#unwatch();
    this.#turns?.unwatch();
    this.#onUnused();
  }

  /** A page of the instance with this key that has the chunk at the offset; undefined if it must be read. */
  cached(key: number, offset: number): ReadPage | undefined {
    return this.#pages.findLast((page) => page.key === key && covers(page, offset));
  }

  /** Reads a page from the store, or shares the read of another reader (stream-hub.2). */
  async read(offset: number): Promise<ReadPage> {
    for (;;) {
      const nothing = this.#nothing;
      if (nothing?.offset === offset && nothing.page.changes === this.#changes) return nothing.page;
      const read = this.#reads.get(offset);
      if (read === undefined) return this.#begin(offset);
      if (read.changes === this.#changes) return read.page;
      await read.page.catch(() => undefined); // it began before the last change
    }
  }

  /** Resolves at the first change after the page was read. Call `stop` to end the wait. */
  nextChange({ changes }: ReadPage): {
    readonly changed: Promise<void>;
    readonly stop: () => void;
  } {
    if (changes !== this.#changes) return { changed: Promise.resolve(), stop: () => undefined };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    return { changed: promise, stop: () => this.#waiting.delete(resolve) };
  }

  #onChange(): void {
    this.#changes++;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  #begin(from: number): Promise<ReadPage> {
    const read = { changes: this.#changes, page: this.#readPage(from, this.#changes) };
    this.#reads.set(from, read);
    const done = (): void => {
      if (this.#reads.get(from) === read) this.#reads.delete(from);
    };
    read.page.then(done, done);
    return read.page;
  }

  /** stream-hub.5 */
  #watchTurns(key: number): void {
    if (!this.#target.settled || this.#turns?.key === key || this.#readers === 0) return;
    this.#turns?.unwatch();
    const unwatch = this.#store.committer.watchTurns(key, () => this.#onChange());
    this.#turns = { key, unwatch };
    this.#changes++; // a turn may have come during the read
  }

  async #readPage(from: number, changes: number): Promise<ReadPage> {
    const limits = { chunksMax: PAGE_CHUNKS_MAX, bytesMax: PAGE_BYTES_MAX };
    const request = { ...this.#target, from, ...limits };
    const found = await this.#store.read((provider) => provider.readStream(request));
    if (found === null) throw notFound(this.#target.id);
    this.#watchTurns(found.key);
    const chunks = untilOpen(found.chunks);
    const page = { ...found, chunks, changes, bytes: bytesOf(chunks), goesOn: !found.isOver };
    if (chunks.length > 0) this.#keep(page);
    else this.#nothing = { offset: from, page };
    return page;
  }

  /** stream-hub.1 */
  #keep(page: ReadPage): void {
    this.#pages.push({ ...page, isOver: false }); // the instance may restart
    this.#bytes += page.bytes;
    const pagesMax = this.#readers < 2 ? 1 : PAGES_MAX;
    while (
      this.#pages.length > pagesMax ||
      (this.#pages.length > 1 && this.#bytes > CACHE_BYTES_MAX)
    ) {
      this.#bytes -= this.#pages.shift()?.bytes ?? 0;
    }
  }
}

/** The offset after the last entry of a chunk. */
export function endOf(chunk: StreamChunk): number {
  return chunk.offset + (chunk.kind === "reset" ? 1 : chunk.count);
}

function covers({ chunks }: StreamPage, offset: number): boolean {
  const first = chunks[0];
  const last = chunks.at(-1);
  if (first === undefined || last === undefined) return false;
  return first.offset <= offset && offset < endOf(last);
}

/** The chunks before the first open one (stream-hub.4). */
function untilOpen(chunks: readonly StreamChunk[]): readonly StreamChunk[] {
  const open = chunks.findIndex((chunk) => chunk.kind === "items" && chunk.state === "open");
  return open === -1 ? chunks : chunks.slice(0, open);
}

function bytesOf(chunks: readonly StreamChunk[]): number {
  let bytes = chunks.length * CHUNK_BYTES;
  for (const chunk of chunks) {
    if (chunk.kind === "items") for (const value of chunk.values) bytes += value.length;
  }
  return bytes;
}
