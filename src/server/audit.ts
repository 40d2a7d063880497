// The audit: one line for every change that somebody known asked for, carried out or refused (S35).
//   AU1. A line is handed over before the answer leaves. A sink that fails is told in the log; the answer stands,
//        because the change has been made.
//   AU2. No route reads or changes the audit. Lines hold no payload and no secret.
//   AU3. Instances remember their own part: who cancelled, paused or terminated them stands in `by`.

import { appendFile } from "node:fs/promises";
import type { LogSink } from "../core/log.ts";
import type { Role } from "./roles.ts";

/** One change that somebody asked for: who, what, when, from where, and what came of it. */
export interface AuditEntry {
  /** ISO time. */
  readonly at: string;
  readonly actor: string;
  readonly role: Role;
  /** The operation, as the OpenAPI document names it. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  /** The instance that it is about, if it is about one. */
  readonly instance?: string;
  /** The peer's address. */
  readonly from: string;
  readonly status: number;
  /** The problem's code, when it was refused. */
  readonly code?: string;
  readonly requestId?: string;
  /** Of a bulk operation: which instances it was asked for, */
  readonly filter?: object;
  /** which instances it was carried out on, */
  readonly instances?: readonly string[];
  /** and how many instances that were. 0 with `dryRun`. */
  readonly count?: number;
  readonly dryRun?: true;
  /** An earlier outcome was told again; nothing was done. */
  readonly replayed?: true;
}
/** What only the handler of a route knows. */
export type AuditFacts = Pick<AuditEntry, "filter" | "instances" | "count" | "dryRun">;
/** Where the audit goes. It is awaited before the answer leaves. */
export type AuditSink = (entry: AuditEntry) => void | Promise<void>;

export class Audit {
  readonly #sink: AuditSink;
  readonly #log: LogSink;

  constructor(sink: AuditSink, log: LogSink) {
    this.#sink = sink;
    this.#log = log;
  }

  async write(entry: AuditEntry): Promise<void> {
    try {
      await this.#sink(entry);
    } catch (error) {
      this.#log("error", "an audit line could not be written", { ...entry, error });
    }
  }
}

/** Appends lines of JSON to a file that only its owner reads. */
export function auditToFile(path: string): AuditSink {
  let last: Promise<void> = Promise.resolve();
  return (entry) => {
    const append = (): Promise<void> =>
      appendFile(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    const written = last.then(append, append); // one after the other: lines never mix
    last = written;
    return written;
  };
}

/** Without a sink the audit is part of the log. */
export function auditToLog(log: LogSink): AuditSink {
  return (entry) => log("info", "audit", { ...entry });
}
