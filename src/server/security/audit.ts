// The audit: one entry for every change that an authenticated caller requested, executed or refused (S35).
//   - The server writes the entry before it sends the answer. If the sink fails, the server logs the entry
//        and still sends the answer, because the change has been made.
//   - No route reads or changes the audit. Entries contain no payloads and no secrets.
//   - Instances also record who cancelled, paused or terminated them, in `by`.

import { appendFile } from "node:fs/promises";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { Role } from "./roles.ts";

/** One requested change: who requested what, when, from where, and the outcome. */
export interface AuditEntry {
  /** ISO time. */
  readonly at: string;
  readonly actor: string;
  readonly role: Role;
  /** The operation id of the OpenAPI document. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  /** The instance, if the operation concerns one. */
  readonly instance?: string;
  /** The IP address of the client. */
  readonly from: string;
  readonly status: number;
  /** The code of the problem, if the request was refused. */
  readonly code?: string;
  readonly requestId?: string;
  /** Bulk operations: the filter of the request. */
  readonly filter?: object;
  /** Bulk operations: the changed instances. */
  readonly instances?: readonly string[];
  /** Bulk operations: the number of changed instances. 0 with `dryRun`. */
  readonly count?: number;
  readonly dryRun?: true;
  /** The server sent an earlier answer again and changed nothing. */
  readonly replayed?: true;
}
/** The members of an entry that only a route's handler knows. */
export type AuditFacts = Pick<AuditEntry, "instance" | "filter" | "instances" | "count" | "dryRun">;
/** Receives the audit entries. The server awaits it before it sends the answer. */
export type AuditSink = (entry: AuditEntry) => void | Promise<void>;

/** A failed write is logged: it must not fail the request. */
export async function writeAudit(
  { audit, log }: { readonly audit: AuditSink; readonly log: LogSink },
  entry: AuditEntry,
): Promise<void> {
  try {
    await audit(entry);
  } catch (error) {
    log("error", "writing an audit entry failed", { ...entry, error });
  }
}

/** Appends one line of JSON per entry to a file that only its owner can read. */
export function auditToFile(path: string): AuditSink {
  let last: Promise<void> = Promise.resolve();
  return (entry) => {
    const append = (): Promise<void> =>
      appendFile(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    const written = last.then(append, append); // one at a time, so that lines do not mix
    last = written;
    return written;
  };
}

/** The default sink: writes the entries to the log. */
export function auditToLog(log: LogSink): AuditSink {
  return (entry) => log("info", "audit", { ...entry });
}
