// What the guards' tests look with: for each guard, whether it acts where the question is asked.

import { existsSync } from "node:fs";
import type { GuardName } from "../../src/core/guard-names.ts";

// Taken before any guard is on.
const hostNow = Date.now.bind(Date);

/** The guards that act on the calling code. An orchestration on a virtual clock lives in another time. */
export function actingGuards(): readonly GuardName[] {
  const names: GuardName[] = [];
  if (Math.abs(Date.now() - hostNow()) > 60_000) names.push("date");
  if (throws(() => crypto.getRandomValues(new Uint8Array(1)))) names.push("random");
  if (throws(() => clearTimeout(setTimeout(() => undefined, 1)))) names.push("timers");
  // Not an address: the host's own refuses it later, without asking anybody.
  if (throws(() => void fetch("").catch(() => undefined))) names.push("fetch");
  if (throws(() => existsSync("."))) names.push("io");
  return names;
}

function throws(call: () => unknown): boolean {
  try {
    call();
    return false;
  } catch {
    return true;
  }
}
