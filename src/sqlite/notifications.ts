// Notifications: who hears of a commit.
//   W1. Listeners of this process are called when the commit has returned, never before (I13).
//   W2. A transaction that has news for others raises a counter in the database. Whoever finds it raised by
//       somebody else tells its listeners to look at everything.
//   W3. Beats and plain turns raise nothing, so that one process's work does not wake another for nothing.

import type { StatementSync } from "node:sqlite";
import type { News, NewsListener } from "../core/provider/notifications.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { NewsDraft, type Transaction } from "./news.ts";
import { watchLog, type LogWatch } from "./watch.ts";

const ELSEWHERE: News = { due: [], changed: [], tasks: false, elsewhere: true };

export class Notifier {
  readonly #connection: Connection;
  readonly #raise: StatementSync;
  readonly #select: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #listeners = new Set<NewsListener>();
  #watch: LogWatch | null = null;
  /** The counter as this provider last saw it. */
  #seen: number;
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
    const entry: NewsListener = (news) => listener(news); // the same function may be given twice
    this.#listeners.add(entry);
    const { path, environment } = this.#connection;
    if (path !== null) this.#watch ??= watchLog(path, environment, () => this.#look());
    return () => {
      this.#listeners.delete(entry);
      if (this.#listeners.size === 0) this.#unwatch();
    };
  }

  /** Inside the transaction: raises the counter if need be. The answer is called after the commit. */
  prepare(draft: NewsDraft): () => void {
    if (draft.isEmpty) return () => {};
    const counter = integer(this.#raise.get() ?? {}, "value");
    return () => {
      const elsewhere = counter !== this.#seen + 1;
      this.#seen = counter;
      if (this.#listeners.size > 0) this.#tell(draft.toNews(elsewhere));
    };
  }

  /** A write with a time and news of its own, which go out when it has committed. */
  async write<T>(work: (transaction: Transaction) => T): Promise<T> {
    const news = new NewsDraft();
    const { result, publish } = await this.#connection.write(() => {
      const result = work({ now: this.#connection.now(), news });
      return { result, publish: this.prepare(news) };
    });
    publish();
    return result;
  }

  /** Another handle of this process has committed this. */
  told(draft: NewsDraft): void {
    const counter = this.#readCounter();
    const elsewhere = counter !== this.#seen + 1;
    this.#seen = counter;
    if (this.#listeners.size > 0) this.#tell(draft.toNews(elsewhere));
  }

  close(): void {
    this.#listeners.clear();
    this.#unwatch();
  }

  /** The log was written to; by whom, only the database knows. */
  #look(): void {
    const version = this.#readVersion();
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    const counter = this.#readCounter();
    if (counter === this.#seen) return;
    this.#seen = counter;
    this.#tell(ELSEWHERE);
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
