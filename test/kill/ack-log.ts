// The driver's own log of what was acknowledged to it: the ground truth of a run, kept outside the store.
//   L1. A line is written after the engine's promise resolved, and never before.
//   L2. `append` resolves when the line is on disk; lines of one moment share a sync.

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
  #underWay: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  append(line: Acknowledged): Promise<void> {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
    this.#next ??= this.#underWay.then(() => {
      this.#underWay = synchronize(this.#file);
      this.#next = null;
      return this.#underWay;
    });
    return this.#next;
  }
}

export function readAcks(path: string): readonly Acknowledged[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Acknowledged); // written by AckLog.append
}
