// The command line: which workloads to run, on which stores, for how long, and where.

import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { WORKLOADS, type Entry } from "./catalogue.ts";
import { PEERS, type Peer } from "./peers/catalogue.ts";
import { STORES, type Store, type Subject } from "./subject.ts";

export const USAGE = `npm run bench -- [options]
  --quick          one repetition, W6 at 10,000 sleepers, W2L at 2,000 instances, no W8, W14, W17: under 60 s per store
  --only W2,W4     only these workloads; W8, W14 and W17 select all their parts
  --store sqlite   sqlite, postgres or all (default: all)
  --limit          also the engine-less limit programs, side by side, with the ratio
  --peers [a,b]    also other engines, all or these, installed in bench/peers and run in turn with ours
  --json FILE      writes the results as JSON, and replaces the file
  --into FILE      writes them into a JSON file: replaces the workloads that ran, on the stores that ran, and keeps the rest
  --dir DIR        where databases are created (default: the system's temporary directory)`;

const REPETITIONS = 3;

export interface Arguments {
  readonly quick: boolean;
  readonly help: boolean;
  readonly repetitions: number;
  readonly workloads: readonly Entry[];
  /** In the order in which they run. */
  readonly subjects: readonly Subject[];
  readonly peers: readonly Peer[];
  readonly stores: readonly Store[];
  readonly json: string | null;
  readonly into: string | null;
  readonly directory: string;
}

/** Throws an error that says what is wrong. */
export function readArguments(words: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: words.map(withAll),
    options: {
      quick: { type: "boolean", default: false },
      limit: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      only: { type: "string" },
      store: { type: "string" },
      peers: { type: "string" },
      json: { type: "string" },
      into: { type: "string" },
      dir: { type: "string", default: tmpdir() },
    },
  });
  const { quick, limit, help, only } = values;
  if (values.json !== undefined && values.into !== undefined) {
    throw new Error("--json and --into exclude each other: choose one.");
  }
  const stores = values.store === "all" ? undefined : values.store;
  return {
    ...{ quick, help },
    repetitions: quick ? 1 : REPETITIONS,
    workloads: chosen(WORKLOADS, only, "workload", (entry) => entry.name).filter(
      ({ slow }) => only !== undefined || !(quick && slow),
    ),
    subjects: limit ? ["perdure", "limit"] : ["perdure"],
    peers: peersOf(values.peers),
    stores: chosen(STORES, stores, "store", (store) => store),
    json: values.json === undefined ? null : resolve(values.json),
    into: values.into === undefined ? null : resolve(values.into),
    directory: resolve(values.dir),
  };
}

/** `--peers` without a value means all peers. */
function withAll(word: string, index: number, words: readonly string[]): string {
  const isAlone = words[index + 1]?.startsWith("--") ?? true;
  return word === "--peers" && isAlone ? "--peers=all" : word;
}

function peersOf(list: string | undefined): readonly Peer[] {
  if (list === undefined) return [];
  return chosen(PEERS, list === "all" ? undefined : list, "peer", (peer) => peer.name);
}

/** The named items, or all items without a list. `W8` selects all items whose name begins with `W8-`. */
function chosen<T>(
  all: readonly T[],
  list: string | undefined,
  what: string,
  nameOf: (one: T) => string,
): readonly T[] {
  if (list === undefined) return all;
  const names = list.split(",").map((name) => name.trim().toLowerCase());
  const known = all.map(nameOf);
  const isNamed = (one: string, name: string): boolean =>
    one.toLowerCase() === name || one.toLowerCase().startsWith(`${name}-`);
  const unknown = names.find((name) => !known.some((one) => isNamed(one, name)));
  if (unknown !== undefined) {
    throw new Error(`Unknown ${what} "${unknown}"; choose from ${known.join(", ")}.`);
  }
  return all.filter((one) => names.some((name) => isNamed(nameOf(one), name)));
}
