// The runtime's end of a thread's store (thread-store.ts): carries out what the thread's client asks for.
//   TH1. Commits go through the process's own committer, so that they share its groups and starts are taken at once.
//   TH2. One piece of news is on its way at a time; what comes meanwhile is gathered, ids up to GATHERED_MAX, then
//        "look at everything" (I12).

import { defaultCodec } from "../core/codec.ts";
import { Committer } from "../core/committer.ts";
import { isPerdureError, PerdureError } from "../core/errors.ts";
import { toFailure } from "../core/failure.ts";
import type { CommitItem, CommitResult } from "../core/provider/commit.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { FromThread, ToThread } from "./thread-messages.ts";

const GATHERED_MAX = 1_000;

type Call = Extract<FromThread, { kind: "call" }>;

export class ThreadStoreHost {
  readonly #provider: Provider;
  readonly #post: (message: ToThread) => void;
  #unsubscribe: (() => void) | null = null;
  readonly #gathered = new Set<string>();
  #elsewhere = false;
  #onTheWay = false;

  constructor(provider: Provider, post: (message: ToThread) => void) {
    this.#provider = provider;
    this.#post = post;
  }

  async call({ id, method, parameters }: Call): Promise<void> {
    try {
      const value = await this.#carryOut(method, defaultCodec.decode(parameters) as unknown[]);
      this.#post({ kind: "answer", id, value: defaultCodec.encode(value) });
    } catch (error) {
      this.#post({ kind: "refusal", id, failure: JSON.stringify(toFailure(error)) });
    }
  }

  async #carryOut(method: string, parameters: readonly unknown[]): Promise<unknown> {
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
        const own = isPerdureError(error);
        return {
          kind: "error",
          error: own ? error : new PerdureError("STORE_INVALID", `${error}`),
        };
      }
    });
    return Promise.all(results);
  }

  listen(on: boolean): void {
    this.#unsubscribe?.();
    this.#unsubscribe = on ? this.#provider.subscribe((news) => this.#gather(news)) : null;
  }

  /** The thread has heard the last. */
  heard(): void {
    this.#onTheWay = false;
    this.#tell();
  }

  close(): void {
    this.listen(false);
  }

  #gather({ changed, progressed = [], elsewhere }: News): void {
    for (const id of [...changed, ...progressed]) this.#gathered.add(id);
    this.#elsewhere ||= elsewhere || this.#gathered.size > GATHERED_MAX;
    if (this.#elsewhere) this.#gathered.clear();
    this.#tell();
  }

  #tell(): void {
    if (this.#onTheWay || (this.#gathered.size === 0 && !this.#elsewhere)) return;
    const changed = [...this.#gathered];
    const news: News = { due: [], changed, tasks: false, elsewhere: this.#elsewhere };
    this.#gathered.clear();
    this.#elsewhere = false;
    this.#onTheWay = true;
    this.#post({ kind: "news", news: JSON.stringify(news) });
  }
}
