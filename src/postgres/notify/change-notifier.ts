// Change notifier: notifies listeners of commits.
//   - Listeners in this process are called after the commit has returned, never before (I13).
//   - change-notifier.1: Other processes are notified by NOTIFY after the commit, outside the transaction:
//     a NOTIFY inside one would serialize all commits of the server. One NOTIFY is in flight at a time;
//     later changes go with the next. It is a hint; a process that misses it finds the change by polling. A
//     user's transaction runs NOTIFY inside, because Perdure does not see its commit.
//   - change-notifier.2: Many processes may write to the streams of many instances all the time. A list of
//     streams that is too long for one message is sent in several, because a notification to read everything
//     would make all runtimes look for work.
//   - Heartbeats, plain turns and messages to instances of this process send no notification, so the work of
//     one process does not wake the others.

import { createHash } from "node:crypto";
import type { NewsListener } from "../../core/provider/notifications.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { ELSEWHERE, notifyListeners } from "../../sql/notify-listeners.ts";
import { Interest } from "./interest.ts";
import { withPerdureErrors, type Connection, type WriteOptions } from "../connection/connection.ts";
import type { Statements } from "../connection/statements.ts";
import { toOpenError } from "../connection/errors.ts";
import { Listener, type ListenerOptions } from "../connection/listener.ts";
import type { BorrowedTransaction } from "../transactions/borrowed-transaction.ts";
import { ChangeDraft, type ChangePayload } from "./change-draft.ts";
import { Pipeline, Statement } from "../connection/pipeline.ts";
import { texts } from "../sql/column-arrays.ts";

/** PostgreSQL accepts less than 8,000 bytes. */
const PAYLOAD_BYTES_MAX = 7_900;
/** More streams than fit into so many messages become a notification to read everything. */
const STREAM_MESSAGES_MAX = 8;
/** At most so many bytes of a message are not ids. */
const FRAME_BYTES = 64;
const NOTIFY = new Statement("SELECT pg_notify($1, $2)::text AS notified");
const NOTIFY_ALL = new Statement(
  "SELECT pg_notify($1, payload)::text AS notified FROM unnest($2::text[]) AS payload",
);
/** The beginning of the message that checks the address in `listen`; other processes ignore it. */
const PROBE = "probe ";
const PROBE_MS = 5_000;
const UNREACHED = `The address in listen must be the direct address of the store's database: a notification that was sent \
through the store's address did not arrive there. It may be another database, or the address of a pooler in transaction mode.`;
/** The sender of notifications from users' transactions: every process handles them, including this one. */
const TRANSACTION_SENDER = "tx";

/** `told` null: the changes did not fit into one message. */
type Payload = { readonly from: string; readonly told: ChangePayload | null };

export class ChangeNotifier {
  readonly #connection: Connection;
  readonly #channel: string;
  readonly #sender: string;
  readonly #listeners = new Set<NewsListener>();
  readonly #interest = new Interest();
  #onArrivals: () => void = () => {};
  #onProbe: () => void = () => {};
  #listener: Listener | null = null;
  #outgoing: ChangeDraft | null = null;
  #sending = false;
  /** Whether other processes are notified. */
  #notifiesOthers = false;
  #closed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#sender = connection.environment.randomHex(8);
    const digest = createHash("sha256").update(connection.schema).digest("hex");
    this.#channel = `perdure_${digest.slice(0, 32)}`;
  }

  /** Starts to notify other processes of commits. */
  notifyOthers(): void {
    this.#notifiesOthers = true;
  }

  /** Starts to receive notifications. */
  async listen(options: Pick<ListenerOptions, "connect" | "disconnect">): Promise<void> {
    const listener = new Listener({
      ...options,
      channel: this.#channel,
      onMessage: (payload) => this.#receive(payload),
      onGap: () => notifyListeners(this.#listeners, ELSEWHERE),
    });
    await listener.open();
    this.#listener = listener;
  }

  /**
   * The same at an address that the user gave for it. Checks with a message that it reaches the store's
   * database, because otherwise every notification would be lost without an error.
   */
  async listenElsewhere(
    options: Pick<ListenerOptions, "connect" | "disconnect">,
    answerMs: number,
  ): Promise<void> {
    try {
      await this.listen(options);
    } catch (error) {
      throw toOpenError(error, "The address in listen cannot be used");
    }
    const probe = Promise.withResolvers<void>();
    this.#onProbe = probe.resolve;
    const timer = setTimeout(
      () => {
        probe.reject(new PerdureError("STORE_INVALID", UNREACHED));
      },
      Math.min(PROBE_MS, answerMs),
    );
    try {
      const sent = this.#connection.send(NOTIFY, [this.#channel, `${PROBE}${this.#sender}`]);
      await Promise.all([sent, probe.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** From now on this process polls. It still notifies other processes: they may be able to listen. */
  stopListening(): void {
    this.#listener?.close();
    this.#listener = null;
  }

  /**
   * Sets the function to call when an event waits in the outbox for an instance that a runtime here can
   * lease.
   */
  whenOutboxFilled(drain: () => void): void {
    this.#onArrivals = drain;
  }

  subscribe(listener: NewsListener): () => void {
    this.#connection.assertOpen();
    const entry: NewsListener = (news) => listener(news); // a function that subscribes twice is called twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Records what a runtime of this process asks for (interest.ts). */
  serves(...asked: Parameters<Interest["serves"]>): void {
    this.#interest.serves(...asked);
  }

  /** Call it after the transaction has committed. */
  publish(draft: ChangeDraft): void {
    if (draft.isEmpty) return;
    if (this.#listeners.size > 0) notifyListeners(this.#listeners, draft.toNews());
    if (!this.#notifiesOthers) return;
    if (this.#outgoing === null) this.#outgoing = draft;
    else this.#outgoing.join(draft);
    if (!this.#sending) void this.#send();
  }

  /** Inside a user's transaction: PostgreSQL sends the notification when the user commits. */
  async publishWithin(borrowed: BorrowedTransaction, draft: ChangeDraft): Promise<void> {
    if (draft.isEmpty || !this.#notifiesOthers) return;
    const told = draft.toPayload(() => false); // the user's commit is not seen here either
    const payload = payloadOf({ from: TRANSACTION_SENDER, told });
    await borrowed.ask(NOTIFY, [this.#channel, payload]);
  }

  /**
   * Runs a write and publishes its changes after the commit. `work` returns the function that reads the
   * result.
   */
  async write<T>(work: (pipeline: Pipeline, changes: ChangeDraft) => () => T): Promise<T> {
    const changes = new ChangeDraft();
    const pipeline = new Pipeline();
    const read = work(pipeline, changes);
    await withPerdureErrors(this.#connection.write(pipeline));
    const result = read();
    this.publish(changes);
    return result;
  }

  /** Like `write`, with statements that need answers in between. */
  async transact<T>(
    work: (statements: Statements, changes: ChangeDraft) => Promise<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const changes = new ChangeDraft();
    const run = (statements: Statements): Promise<T> => work(statements, changes);
    const result = await withPerdureErrors(this.#connection.transact(options, run));
    this.publish(changes);
    return result;
  }

  /** Like `transact`; no process gives a lease to that runtime meanwhile. */
  async transactWithout<T>(
    owner: string,
    work: (statements: Statements, changes: ChangeDraft) => Promise<T>,
  ): Promise<T> {
    const changes = new ChangeDraft();
    const run = (statements: Statements): Promise<T> => work(statements, changes);
    const result = await withPerdureErrors(this.#connection.transactWithout(owner, run));
    this.#interest.leaves(owner);
    this.publish(changes);
    return result;
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#listener?.close();
    this.#listener = null;
  }

  /** Sends the outgoing changes until there are none left (change-notifier.1). */
  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#outgoing !== null && !this.#closed) {
      const draft = this.#outgoing;
      this.#outgoing = null;
      const told = draft.toPayload((owner) => this.#interest.isHere(owner));
      if (Object.keys(told).length === 0) continue;
      const payloads = payloadsOf(this.#sender, told);
      try {
        await this.#connection.send(NOTIFY_ALL, [this.#channel, texts(payloads)]);
      } catch {
        // The hint is lost; the next use of the store reports the error.
      }
    }
    this.#sending = false;
  }

  #receive(payload: string): void {
    if (payload === `${PROBE}${this.#sender}`) return this.#onProbe();
    const message = toPayload(payload);
    if (message === null || message.from === this.#sender) return;
    if (message.told !== null && this.#interest.concerns(message.told)) this.#onArrivals();
    const news = message.told === null ? ELSEWHERE : this.#interest.read(message.told);
    if (news !== null) notifyListeners(this.#listeners, news);
  }
}

function payloadOf(payload: Payload): string {
  return encode(payload) ?? JSON.stringify({ ...payload, told: null });
}

/** change-notifier.2 */
function payloadsOf(from: string, told: ChangePayload): string[] {
  const whole = encode({ from, told });
  if (whole !== null) return [whole];
  const { s = [], ...rest } = told;
  const parts = [...(Object.keys(rest).length === 0 ? [] : [rest]), ...inParts(s)];
  const payloads = parts.flatMap((part) => encode({ from, told: part }) ?? []);
  const isComplete = payloads.length === parts.length && parts.length <= STREAM_MESSAGES_MAX;
  return isComplete ? payloads : [JSON.stringify({ from, told: null })];
}

/** Null: it is too long for one message. */
function encode(payload: Payload): string | null {
  const text = JSON.stringify(payload);
  return Buffer.byteLength(text) <= PAYLOAD_BYTES_MAX ? text : null;
}

function inParts(ids: readonly string[]): ChangePayload[] {
  const parts: string[][] = [];
  let left = 0;
  for (const id of ids) {
    const bytes = Buffer.byteLength(JSON.stringify(id)) + 1;
    const part = bytes <= left ? parts.at(-1) : undefined;
    if (part === undefined) {
      parts.push([id]);
      left = PAYLOAD_BYTES_MAX - FRAME_BYTES;
    } else part.push(id);
    left -= bytes;
  }
  return parts.map((s) => ({ s }));
}

/** Null: the message was not sent by Perdure. */
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
