// Who this process is, beyond doubt, and whether another one is certainly gone (architecture §4.7).
//   PI1. "Gone" is said only when it is certain: same boot, same pid namespace, and no process of that pid and
//        start time. Everything else is left to the beats.

import { readFileSync, readlinkSync } from "node:fs";
import type { ProcessIdentity } from "../core/provider/runtimes.ts";

/** Null where the host does not tell (no /proc). */
export function ownIdentity(): ProcessIdentity | null {
  try {
    return {
      bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
      pidNamespace: readlinkSync("/proc/self/ns/pid"),
      pid: process.pid,
      startTime: startTimeOf(process.pid),
    };
  } catch {
    return null;
  }
}

export function isCertainlyGone(
  other: ProcessIdentity | null,
  own: ProcessIdentity | null,
): boolean {
  if (other === null || own === null) return false;
  if (other.bootId !== own.bootId || other.pidNamespace !== own.pidNamespace) return false;
  try {
    return startTimeOf(other.pid) !== other.startTime;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Field 22 of /proc/pid/stat: clock ticks from boot to the process's start. A zombie counts as gone. */
function startTimeOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The command name is in parentheses and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return "dead";
  return fields[19] ?? "";
}
