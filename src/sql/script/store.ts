// Script store: the ways in which a store runs scripts. Each store has one, on its connection.

import type { Scope } from "./scope.ts";
import type { Script } from "./script.ts";
import type { Call } from "./statement.ts";

export interface WriteOptions {
  /** How long PostgreSQL waits for a lock, in milliseconds. */
  readonly lockMs?: number;
}

export interface ScriptStore<S extends Scope = Scope> {
  /**
   * Runs a script that only reads. On SQLite all its statements see one snapshot, on PostgreSQL each
   * statement its own. "survey": the statements read much, and the server plans them for each call.
   */
  read<T>(script: (now: number) => Script<T>, how?: "survey"): Promise<T>;
  /** Runs a script as one transaction, and publishes its changes after the commit. */
  write<T>(script: (scope: S) => Script<T>, options?: WriteOptions): Promise<T>;
  /** Like `write`; no process gives a lease to the runtime `owner` meanwhile. */
  writeWithout<T>(owner: string, script: (scope: S) => Script<T>): Promise<T>;
  /** Runs a statement as one transaction, in one round trip. Returns how many rows it has changed. */
  writeOnce(call: Call): Promise<number>;
}
