// Interruption: SIGINT and SIGTERM as something that a command can wait for.
//   IN1. Whoever takes signals ends by itself soon after the first; a second one ends the process at once.
//   IN2. A process that a parent of ours looks after leaves Ctrl+C to it: a terminal sends that to both.

import type { ExitCode } from "./exit-codes.ts";

/** Set in a process that a parent of ours looks after. */
export const SUPERVISED = "PERDURE_SUPERVISED";

const CODES = { SIGINT: 130, SIGTERM: 143 } as const satisfies Record<string, ExitCode>;
type Signal = keyof typeof CODES;

export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #listeners: readonly (readonly [Signal, () => void])[];
  #code: ExitCode | undefined;

  constructor() {
    const names = Object.keys(CODES) as Signal[]; // its own keys, which are signals
    this.#listeners = names.map((name) => [name, () => this.#take(name)] as const);
    for (const [name, listener] of this.#listeners) process.on(name, listener);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Of a command that a signal has ended; undefined: none came. */
  get code(): ExitCode | undefined {
    return this.#code;
  }

  /** Resolves with the first signal. */
  get came(): Promise<void> {
    return new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      else this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener);
  }

  #take(name: Signal): void {
    if (name === "SIGINT" && process.env[SUPERVISED] !== undefined) return;
    if (this.#code !== undefined) process.exit(CODES[name]);
    this.#code = CODES[name];
    this.#controller.abort();
  }
}
