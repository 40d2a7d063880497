// Process identity: identifies this process, and decides whether another process is certainly gone
// (ARCHITECTURE.md, "Liveness").
//   - process-identity.1: A process is gone only on evidence: the kernel knows no process with that pid
//     (ESRCH), or /proc shows that the pid now belongs to another process or to a zombie. A process that
//     is missing in /proc is not evidence: with hidepid=2 or ProtectProc=invisible, /proc hides all
//     processes of other users.
//   - process-identity.2: Pids are compared only within one boot and one pid namespace. A process whose
//     /proc belongs to another namespace has no identity, because the pids in that /proc are different.

import { readFileSync, readlinkSync } from "node:fs";
import type { ProcessIdentity } from "../../core/provider/runtimes.ts";

/** What the host reports about its processes. */
export interface ProcessHost {
  /** Throws as kill(pid, 0) does: ESRCH when there is no such process, EPERM when it belongs to another user. */
  readonly probe: (pid: number) => void;
  /** The text of a file below /proc; throws when it cannot be read. */
  readonly read: (path: string) => string;
}

const HOST: ProcessHost = {
  probe: (pid) => void process.kill(pid, 0),
  read: (path) => readFileSync(path, "utf8"),
};

/**
 * Null if the host has no /proc, or if its /proc belongs to another pid namespace (process-identity.2).
 */
export function ownIdentity(host: ProcessHost = HOST): ProcessIdentity | null {
  try {
    if (statOf(host, "self").pid !== process.pid) return null;
    return {
      bootId: host.read("/proc/sys/kernel/random/boot_id").trim(),
      pidNamespace: readlinkSync("/proc/self/ns/pid"),
      pid: process.pid,
      startTime: statOf(host, process.pid).startTime,
    };
  } catch {
    return null;
  }
}

export function isCertainlyGone(
  other: ProcessIdentity | null,
  own: ProcessIdentity | null,
  host: ProcessHost = HOST,
): boolean {
  if (other === null || own === null) return false;
  if (other.bootId !== own.bootId || other.pidNamespace !== own.pidNamespace) return false;
  try {
    host.probe(other.pid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return true;
  }
  try {
    return statOf(host, other.pid).startTime !== other.startTime;
  } catch {
    return false; // hidden (process-identity.1)
  }
}

/** Field 1 and field 22 (clock ticks from boot to the start of the process) of /proc/pid/stat. */
function statOf(host: ProcessHost, pid: number | "self"): { pid: number; startTime: string } {
  const stat = host.read(`/proc/${pid}/stat`);
  // The command name is in parentheses and may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isZombie = fields[0] === "Z" || fields[0] === "X";
  return { pid: Number.parseInt(stat, 10), startTime: isZombie ? "dead" : (fields[19] ?? "") };
}
