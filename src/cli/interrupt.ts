// Interruption: turns SIGINT and SIGTERM into an AbortSignal and a promise that a command can wait for.
//   - After the first signal the command must end by itself. A second signal ends the process at once.
//   - A supervised process ignores SIGINT. A terminal sends Ctrl+C to the parent and to the child; the parent
//        then stops its children with SIGTERM.

import type { ExitCode } from "./exit-codes.ts";

/** The environment variable that a supervising `perdure` process sets for its worker processes. */
export const SUPERVISED = "PERDURE_SUPERVISED";

const CODES = { SIGINT: 130, SIGTERM: 143 } as const satisfies Record<string, ExitCode>;
type Signal = keyof typeof CODES;

export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #listeners: readonly (readonly [Signal, () => void])[];
  #code: ExitCode | undefined;

  constructor() {
    const names = Object.keys(CODES) as Signal[]; // the keys of CODES are signal names
    this.#listeners = names.map((name) => [name, () => this.#handle(name)] as const);
    for (const [name, listener] of this.#listeners) process.on(name, listener);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code for the first signal. Undefined: no signal has arrived. */
  get code(): ExitCode | undefined {
    return this.#code;
  }

  /** Resolves when the first signal arrives. */
  get received(): Promise<void> {
    return new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      else this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener);
  }

  #handle(name: Signal): void {
    if (name === "SIGINT" && process.env[SUPERVISED] !== undefined) return;
    if (this.#code !== undefined) process.exit(CODES[name]);
    this.#code = CODES[name];
    this.#controller.abort();
  }
}
