// The runtime's side of a thread's store (thread-store.ts): executes the calls of the thread's client.
//   - Commits go through the committer of the process. They share its group commits, and its runtime can
//     lease starts at once.
//   - One notification is in flight at a time. Further ones are collected: up to GATHERED_MAX ids, beyond
//     that "anything may have changed" (I12).

import { defaultCodec } from "../../core/values/codec.ts";
import { Committer } from "../../core/commit/committer.ts";
import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import { toFailure } from "../../core/errors/failure.ts";
import type { CommitItem, CommitResult } from "../../core/provider/commit.ts";
import type { News } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { FromThread, ToThread } from "./thread-messages.ts";

const GATHERED_MAX = 1_000;

type Call = Extract<FromThread, { kind: "call" }>;

export class ThreadStoreHost {
  readonly #provider: Provider;
  readonly #post: (message: ToThread) => void;
  #unsubscribe: (() => void) | null = null;
  readonly #gathered = new Set<string>();
  #elsewhere = false;
  #inFlight = false;

  constructor(provider: Provider, post: (message: ToThread) => void) {
    this.#provider = provider;
    this.#post = post;
  }

  async call({ id, method, parameters }: Call): Promise<void> {
    try {
      const value = await this.#execute(method, defaultCodec.decode(parameters) as unknown[]);
      this.#post({ kind: "answer", id, value: defaultCodec.encode(value) });
    } catch (error) {
      this.#post({ kind: "refusal", id, failure: JSON.stringify(toFailure(error)) });
    }
  }

  async #execute(method: string, parameters: readonly unknown[]): Promise<unknown> {
    if (method === "commit") return this.#commit(parameters[0] as readonly CommitItem[]); // by contract
    const member: unknown = Reflect.get(this.#provider, method);
    if (typeof member !== "function") throw new Error(`The store has no method "${method}".`);
    return Reflect.apply(member, this.#provider, parameters) as unknown;
  }

  async #commit(items: readonly CommitItem[]): Promise<readonly CommitResult[]> {
    const committer = Committer.of(this.#provider);
    const results = items.map(async (item): Promise<CommitResult> => {
      try {
        return await (item.kind === "start" ? committer.start(item) : committer.submit(item));
      } catch (error) {
        const own = isPerdureError(error) ? error : new PerdureError("STORE_INVALID", `${error}`);
        return { kind: "error", error: own };
      }
    });
    return Promise.all(results);
  }

  listen(on: boolean): void {
    this.#unsubscribe?.();
    this.#unsubscribe = on ? this.#provider.subscribe((changes) => this.#gather(changes)) : null;
  }

  /** The thread has handled the last notification. */
  handled(): void {
    this.#inFlight = false;
    this.#sendChanges();
  }

  close(): void {
    this.listen(false);
  }

  #gather({ changed, progressed = [], elsewhere }: News): void {
    for (const id of [...changed, ...progressed]) this.#gathered.add(id);
    this.#elsewhere ||= elsewhere || this.#gathered.size > GATHERED_MAX;
    if (this.#elsewhere) this.#gathered.clear();
    this.#sendChanges();
  }

  #sendChanges(): void {
    if (this.#inFlight || (this.#gathered.size === 0 && !this.#elsewhere)) return;
    const changed = [...this.#gathered];
    const changes: News = { due: [], changed, tasks: false, elsewhere: this.#elsewhere };
    this.#gathered.clear();
    this.#elsewhere = false;
    this.#inFlight = true;
    this.#post({ kind: "changes", changes: JSON.stringify(changes) });
  }
}
