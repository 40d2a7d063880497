// Change notifier: notifies listeners of commits.
//   - Listeners in this process are called after the commit is on disk, never before (I13).
//   - A transaction with changes raises a counter in the database. A process that finds the counter raised
//     by another process tells its listeners to look at everything. It is a hint; a process that misses it
//     finds the change by polling.
//   - Heartbeats and plain turns do not raise the counter, so the work of one process does not wake the
//     others.

import type { StatementSync } from "node:sqlite";
import type { NewsListener } from "../../core/provider/notifications.ts";
import { ELSEWHERE, notifyListeners } from "../../sql/notify-listeners.ts";
import { integer } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { ChangeDraft, type Transaction } from "./change-draft.ts";
import { watchLog, type LogWatch } from "./file-watch.ts";

export class ChangeNotifier {
  readonly #connection: Connection;
  readonly #raise: StatementSync;
  readonly #select: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #listeners = new Set<NewsListener>();
  #watch: LogWatch | null = null;
  /** The counter when this provider last read or raised it. */
  #seen: number;
  /** PRAGMA data_version when this provider last read it: other connections change it with every write. */
  #seenVersion: number;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#raise = connection.prepare(
      "UPDATE meta SET value = value + 1 WHERE name = 'news' RETURNING value",
    );
    this.#select = connection.prepare("SELECT value FROM meta WHERE name = 'news'");
    this.#dataVersion = connection.prepare("PRAGMA data_version");
    this.#seenVersion = this.#readVersion();
    this.#seen = this.#readCounter();
  }

  subscribe(listener: NewsListener): () => void {
    this.#connection.assertOpen();
    const entry: NewsListener = (news) => listener(news); // a function that subscribes twice is called twice
    this.#listeners.add(entry);
    const { path, environment } = this.#connection;
    if (path !== null) this.#watch ??= watchLog(path, environment, () => this.#look());
    return () => {
      this.#listeners.delete(entry);
      if (this.#listeners.size === 0) this.#unwatch();
    };
  }

  /**
   * Inside the transaction: raises the counter if there are changes. Call the returned function after the
   * commit.
   */
  prepare(draft: ChangeDraft): () => void {
    if (draft.isEmpty) return () => {};
    const counter = integer(this.#raise.get() ?? {}, "value");
    return () => this.#publish(draft, counter);
  }

  /** Runs a write and publishes its changes after the commit. */
  async write<T>(work: (transaction: Transaction) => T): Promise<T> {
    const changes = new ChangeDraft();
    const { result, publish } = await this.#connection.write(() => {
      const result = work({ now: this.#connection.now(), changes });
      return { result, publish: this.prepare(changes) };
    });
    publish();
    return result;
  }

  /** Another handle of this process has committed these changes. */
  published(draft: ChangeDraft): void {
    this.#publish(draft, this.#readCounter());
  }

  close(): void {
    this.#listeners.clear();
    this.#unwatch();
  }

  /** The log has changed: finds out from the database whether another process has changes. */
  #look(): void {
    const version = this.#readVersion();
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    const counter = this.#readCounter();
    if (counter === this.#seen) return;
    this.#seen = counter;
    notifyListeners(this.#listeners, ELSEWHERE);
  }

  /** A look may have seen the counter before the commit was on disk. Then it has notified the listeners. */
  #publish(draft: ChangeDraft, counter: number): void {
    const elsewhere = counter > this.#seen + 1;
    this.#seen = Math.max(this.#seen, counter);
    if (this.#listeners.size > 0) notifyListeners(this.#listeners, draft.toNews(elsewhere));
  }

  #readVersion(): number {
    return integer(this.#dataVersion.get() ?? {}, "data_version");
  }

  #readCounter(): number {
    return integer(this.#select.get() ?? {}, "value");
  }

  #unwatch(): void {
    this.#watch?.close();
    this.#watch = null;
  }
}
