// The driver's log of acknowledged calls: the ground truth of a run, kept outside the store.
//   - A line is written only after the engine's promise has resolved.
//   - `append` resolves when the line is on disk; lines appended at the same time share one sync.

import { fdatasync, openSync, readFileSync, writeSync } from "node:fs";
import { promisify } from "node:util";

/** The value that was returned, or the code of the error. */
export type Outcome = { readonly value: unknown } | { readonly error: string };

export type Acknowledged =
  | { readonly what: "start"; readonly id: string; readonly kind: string; readonly seed: number }
  | { readonly what: "raise"; readonly id: string; readonly said: number }
  | { readonly what: "cancel"; readonly id: string }
  | { readonly what: "result"; readonly id: string; readonly outcome: Outcome };

const synchronize = promisify(fdatasync);

export class AckLog {
  readonly #file: number;
  #syncing: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  append(line: Acknowledged): Promise<void> {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
    this.#next ??= this.#syncing.then(() => {
      this.#syncing = synchronize(this.#file);
      this.#next = null;
      return this.#syncing;
    });
    return this.#next;
  }
}

export function readAcks(path: string): readonly Acknowledged[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Acknowledged); // written by AckLog.append
}
