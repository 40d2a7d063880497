// Notifications: who hears of a commit.
//   W1. Listeners of this process are called when the commit has returned, never before (I13).
//   W2. Other processes are told by NOTIFY behind the commit, in no transaction of ours: a NOTIFY within one would
//       make all commits of the server wait for each other. One is on its way at a time; what comes meanwhile goes
//       with the next. It is a hint, and who misses it polls.
//        A user's transaction says within what it will have brought about: nobody else is there when it commits.
//   W3. Beats and plain turns tell nothing, so that one process's work does not wake another for nothing.

import { createHash } from "node:crypto";
import type { News, NewsListener } from "../core/provider/notifications.ts";
import { Addresses } from "./addresses.ts";
import { told, type Connection, type Statements, type WriteOptions } from "./connection.ts";
import { Listener, type ListenerOptions } from "./listener.ts";
import type { Lent } from "./lent.ts";
import { NewsDraft, type Told } from "./news.ts";
import { Pipeline, Statement } from "./pipeline.ts";

/** PostgreSQL takes less than 8,000 bytes. */
const PAYLOAD_BYTES_MAX = 7_900;
const ELSEWHERE: News = { due: [], changed: [], tasks: false, elsewhere: true };
const NOTIFY = new Statement("SELECT pg_notify($1, $2)::text AS told");
/** The sender of what users' transactions tell: it is news to everybody, this process included. */
const NOBODY = "tx";

/** Null in both: something happened, and it is too much to say what. */
type Payload = { readonly from: string; readonly told: Told | null };

export class Notifier {
  readonly #connection: Connection;
  readonly #channel: string;
  readonly #sender: string;
  readonly #listeners = new Set<NewsListener>();
  readonly #addresses = new Addresses();
  #onArrivals: () => void = () => {};
  #listener: Listener | null = null;
  #outgoing: NewsDraft | null = null;
  #sending = false;
  /** Whether other processes are notified. */
  #tells = false;
  #closed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#sender = connection.environment.randomHex(8);
    const digest = createHash("sha256").update(connection.schema).digest("hex");
    this.#channel = `perdure_${digest.slice(0, 32)}`;
  }

  /** Begins to hear and to tell other processes. */
  async listen(options: Pick<ListenerOptions, "connect" | "disconnect">): Promise<void> {
    const listener = new Listener({
      ...options,
      channel: this.#channel,
      onMessage: (payload) => this.#hear(payload),
      onGap: () => this.#tell(ELSEWHERE),
    });
    await listener.open();
    this.#listener = listener;
    this.#tells = true;
  }

  /** From now on this process polls. Others are still notified: they may be able to listen. */
  stopListening(): void {
    this.#listener?.close();
    this.#listener = null;
  }

  /** Calls back when something has arrived that a runtime here could take (arrivals.ts). */
  whenArrived(bring: () => void): void {
    this.#onArrivals = bring;
  }

  subscribe(listener: NewsListener): () => void {
    this.#connection.assertOpen();
    const entry: NewsListener = (news) => listener(news); // the same function may be given twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** That runtime is here, and asks for these (addresses.ts). */
  serves(...asked: Parameters<Addresses["serves"]>): void {
    this.#addresses.serves(...asked);
  }

  /** The transaction has committed. */
  publish(draft: NewsDraft): void {
    if (draft.isEmpty) return;
    if (this.#listeners.size > 0) this.#tell(draft.toNews());
    if (!this.#tells) return;
    if (this.#outgoing === null) this.#outgoing = draft;
    else this.#outgoing.join(draft);
    if (!this.#sending) void this.#send();
  }

  /** Within a user's transaction: what he commits, he tells. */
  async publishWithin(lent: Lent, draft: NewsDraft): Promise<void> {
    if (draft.isEmpty || !this.#tells) return;
    const payload = payloadOf({ from: NOBODY, told: draft.toTold() });
    await lent.ask(NOTIFY, [this.#channel, payload]);
  }

  /** A write with news of its own, which go out when it has committed. `work` answers with what reads the result. */
  async write<T>(work: (pipeline: Pipeline, news: NewsDraft) => () => T): Promise<T> {
    const news = new NewsDraft();
    const pipeline = new Pipeline();
    const read = work(pipeline, news);
    await told(this.#connection.write(pipeline));
    const result = read();
    this.publish(news);
    return result;
  }

  /** As `write`, step by step. */
  async transact<T>(
    work: (statements: Statements, news: NewsDraft) => Promise<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const news = new NewsDraft();
    const run = (statements: Statements): Promise<T> => work(statements, news);
    const result = await told(this.#connection.transact(options, run));
    this.publish(news);
    return result;
  }

  /** As `transact`, while nobody gives a lease to that runtime. */
  async transactWithout<T>(
    owner: string,
    work: (statements: Statements, news: NewsDraft) => Promise<T>,
  ): Promise<T> {
    const news = new NewsDraft();
    const run = (statements: Statements): Promise<T> => work(statements, news);
    const result = await told(this.#connection.transactWithout(owner, run));
    this.#addresses.leaves(owner);
    this.publish(news);
    return result;
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#listener?.close();
    this.#listener = null;
  }

  /** W2 */
  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#outgoing !== null && !this.#closed) {
      const draft = this.#outgoing;
      this.#outgoing = null;
      const payload = payloadOf({ from: this.#sender, told: draft.toTold() });
      try {
        await this.#connection.send(NOTIFY, [this.#channel, payload]);
      } catch {
        // a hint that is lost; whoever needs the store finds out by himself
      }
    }
    this.#sending = false;
  }

  #hear(payload: string): void {
    const message = toPayload(payload);
    if (message === null || message.from === this.#sender) return;
    if (message.told !== null && this.#addresses.concerns(message.told)) this.#onArrivals();
    const news = message.told === null ? ELSEWHERE : this.#addresses.read(message.told);
    if (news !== null) this.#tell(news);
  }

  #tell(news: News): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(news);
      } catch (error) {
        // The commit stands, whatever its listeners make of it.
        const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
        process.emitWarning(`A listener to the store's news threw. ${said}`, "PerdureWarning");
      }
    }
  }
}

function payloadOf(payload: Payload): string {
  const text = JSON.stringify(payload);
  if (Buffer.byteLength(text) <= PAYLOAD_BYTES_MAX) return text;
  return JSON.stringify({ ...payload, told: null });
}

/** Null: whatever it is, no store of ours sent it. */
function toPayload(text: string): Payload | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "from" in value && "told" in value
      ? (value as Payload)
      : null;
  } catch {
    return null;
  }
}
