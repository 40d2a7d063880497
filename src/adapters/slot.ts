// A slot: the one runtime of a name in this process, and its replacement when the code is loaded again.
//   - slot.1: At most one runtime of a slot takes work. The old one has shut down before the next one starts. Unfinished
//       attempts are handed back, and the next runtime takes them.
//   - slot.2: `#wanted` is the newest registration and `#running` what was opened. One loop at a time (`#reconcile`) makes
//       them equal. Everything else changes `#wanted` and waits.
//   - slot.3: A reload keeps the store open if both registrations name the same store, so that clients in use stay valid
//       and a store in memory keeps its data.
//   - slot.4: With NODE_ENV=production no code is loaded again, but a bundler may make several copies of a module. The
//       first registration stays, and the others use its runtime. They must register the same definitions.
//
//   #wanted   #running   state
//   null      null       closed, or never opened
//   A         null       opens at the next call
//   A         A          running
//   B         A          reloads at the next call: A shuts down, B starts
//   null      A          closing

import { invalidArgument } from "../core/checks.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { Provider } from "../core/provider/provider.ts";
import { closeStore, openStore, type Perdure } from "../perdure.ts";
import { createToken, type PerdureServer, type TokenEntry } from "../server/index.ts";
import { processState } from "./process-state.ts";
import { closeOnSignals } from "./signals.ts";

/** How long a reload waits for running attempts before it hands them back. */
const RELOAD_GRACE_MS = 2_000;

/** The address of a store, or a function that opens it. */
export type StoreSource = string | (() => Provider | Promise<Provider>);

/** One load of the application's code. Its functions belong to that copy of the module. */
export interface Registration {
  readonly store: StoreSource;
  /** The registered definitions as text, to compare them. */
  readonly definitions: string;
  readonly graceMs: number | undefined;
  readonly signals: boolean;
  start(provider: Provider): Promise<Perdure>;
  /** Null: the application mounts no server. */
  serve(perdure: Perdure): PerdureServer | null;
  reportError(what: string, error: unknown): void;
}

/** What must end before the runtime. `exitRequested` resolves when a listener of the application wants to exit. */
export type StopFirst = (exitRequested: Promise<void>) => Promise<unknown>;

export interface Running {
  readonly registration: Registration;
  readonly perdure: Perdure;
  readonly server: PerdureServer | null;
}

export class Slot {
  readonly #name: string;
  readonly #stops = new Set<StopFirst>();
  #wanted: Registration | null = null;
  #running: Running | null = null;
  #store: { readonly source: StoreSource; readonly provider: Provider } | null = null;
  #going: Promise<void> | null = null;
  #unwatch: () => void = () => undefined;
  #token: { readonly token: string; readonly entry: TokenEntry } | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** An admin token that stays the same across reloads. */
  get token(): { readonly token: string; readonly entry: TokenEntry } {
    return (this.#token ??= createToken({ name: "local", role: "admin" }));
  }

  /** Returns the registration that counts: this one, or the first one (slot.4). */
  register(registration: Registration): Registration {
    const first = this.#wanted;
    if (first === null || process.env["NODE_ENV"] !== "production") {
      this.#wanted = registration;
      return registration;
    }
    if (first.definitions === registration.definitions) return first;
    const way = "register the same definitions, or give one of them another name";
    const message = `This process runs "${this.#name}" already, with other definitions; ${way}.`;
    throw invalidArgument(message);
  }

  /** What runs under the newest registration. */
  async open(): Promise<Running> {
    for (;;) {
      const wanted = this.#wanted;
      if (wanted === null) {
        throw new PerdureError("SHUTTING_DOWN", `"${this.#name}" was closed by its application.`);
      }
      if (this.#running?.registration === wanted) return this.#running;
      await this.#settle();
    }
  }

  /** Nothing happens if another registration has replaced this one. */
  async close(registration: Registration): Promise<void> {
    if (this.#wanted === registration) this.#wanted = null;
    while (this.#wanted === null && (this.#running !== null || this.#store !== null)) {
      await this.#settle();
    }
  }

  /** A signal calls `stop` before it closes the slot. */
  beforeClose(stop: StopFirst): void {
    this.#stops.add(stop);
  }

  async endStreams(): Promise<void> {
    await this.#running?.server?.close();
  }

  #settle(): Promise<void> {
    this.#going ??= this.#reconcile().finally(() => {
      this.#going = null;
    });
    return this.#going;
  }

  /** slot.2 */
  async #reconcile(): Promise<void> {
    for (;;) {
      const wanted = this.#wanted;
      if ((this.#running?.registration ?? null) === wanted && wanted !== null) return;
      await this.#stop(wanted);
      if (wanted === null) {
        if (this.#wanted === null) return;
        continue;
      }
      try {
        await this.#start(wanted);
      } catch (error) {
        if (this.#wanted === wanted) throw error;
      }
    }
  }

  /** slot.1 */
  async #stop(next: Registration | null): Promise<void> {
    const running = this.#running;
    this.#running = null;
    if (running !== null) {
      const { registration, perdure, server } = running;
      const grace = registration.graceMs;
      const reloadGrace = Math.min(RELOAD_GRACE_MS, grace ?? RELOAD_GRACE_MS);
      const graceMs = next === null ? grace : reloadGrace;
      await server?.close();
      await perdure.close(graceMs === undefined ? {} : { graceMs });
    }
    const store = this.#store;
    if (store === null || store.source === next?.store) return; // slot.3
    this.#store = null;
    if (next === null) this.#forget();
    await closeStore(store.provider);
  }

  #forget(): void {
    this.#unwatch();
    this.#stops.clear();
  }

  async #start(wanted: Registration): Promise<void> {
    this.#store ??= { source: wanted.store, provider: await openSource(wanted.store) };
    const perdure = await wanted.start(this.#store.provider);
    try {
      this.#running = { registration: wanted, perdure, server: wanted.serve(perdure) };
    } catch (error) {
      await perdure.close({ graceMs: 0 });
      throw error;
    }
    this.#unwatch();
    this.#unwatch = wanted.signals
      ? closeOnSignals((exit) => this.#onSignal(wanted, exit))
      : () => undefined;
  }

  async #onSignal(registration: Registration, exitRequested: Promise<void>): Promise<void> {
    try {
      await this.endStreams();
      await Promise.all([...this.#stops].map((stop) => stop(exitRequested)));
      await this.close(registration);
    } catch (error) {
      registration.reportError("cannot shut down", error);
    }
  }
}

/** The slot of a name. It is created once per process. */
export function slotOf(name: string): Slot {
  const { slots } = processState();
  const known = slots.get(name);
  if (known !== undefined) return known;
  const slot = new Slot(name);
  slots.set(name, slot);
  return slot;
}

async function openSource(source: StoreSource): Promise<Provider> {
  return typeof source === "string" ? openStore(source) : source();
}
