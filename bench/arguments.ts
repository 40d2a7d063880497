// The command line: what to run, on which store, how long, and where.

import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { WORKLOADS, type Entry } from "./catalogue.ts";
import { STORES, type Store } from "./subject.ts";

export const USAGE = `npm run bench -- [options]
  --quick          one repetition, W6 at 10,000 sleepers, W2L at 2,000 instances: under 60 s a store
  --only W2,W4     these workloads
  --store sqlite   these stores
  --limit          also the engine-less limit programs, side by side, with the ratio
  --json FILE      the results as JSON
  --dir DIR        where databases are made (default: the system's temporary directory)`;

const REPETITIONS = 3;

export interface Arguments {
  readonly quick: boolean;
  readonly limit: boolean;
  readonly help: boolean;
  readonly repetitions: number;
  readonly workloads: readonly Entry[];
  readonly stores: readonly Store[];
  readonly json: string | null;
  readonly directory: string;
}

/** Throws with a sentence that says what is wrong. */
export function readArguments(words: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...words],
    options: {
      quick: { type: "boolean", default: false },
      limit: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      only: { type: "string" },
      store: { type: "string" },
      json: { type: "string" },
      dir: { type: "string", default: tmpdir() },
    },
  });
  const { quick, limit, help } = values;
  return {
    ...{ quick, limit, help },
    repetitions: quick ? 1 : REPETITIONS,
    workloads: chosen(WORKLOADS, values.only, "workload", (entry) => entry.name),
    stores: chosen(STORES, values.store, "store", (store) => store),
    json: values.json === undefined ? null : resolve(values.json),
    directory: resolve(values.dir),
  };
}

/** Those named in the list, or all without one. */
function chosen<T>(
  all: readonly T[],
  list: string | undefined,
  what: string,
  nameOf: (one: T) => string,
): readonly T[] {
  if (list === undefined) return all;
  const names = list.split(",").map((name) => name.trim().toLowerCase());
  const known = all.map(nameOf);
  const unknown = names.find((name) => !known.some((one) => one.toLowerCase() === name));
  if (unknown !== undefined) {
    throw new Error(`There is no ${what} "${unknown}"; there are ${known.join(", ")}.`);
  }
  return all.filter((one) => names.includes(nameOf(one).toLowerCase()));
}
