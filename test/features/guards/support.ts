// For the tests of the guards: which guards act on the calling code.

import fs from "node:fs"; // Bun and Deno do not guard names imported from Node's modules
import type { GuardName } from "../../../src/core/define/guard-names.ts";

// Taken before a guard is installed.
const hostNow = Date.now.bind(Date);

/** The guards that act on the calling code. The date guard shows because virtual time differs from the host's time. */
export function actingGuards(): readonly GuardName[] {
  const names: GuardName[] = [];
  if (Math.abs(Date.now() - hostNow()) > 60_000) names.push("date");
  if (throws(() => crypto.getRandomValues(new Uint8Array(1)))) names.push("random");
  if (throws(() => clearTimeout(setTimeout(() => undefined, 1)))) names.push("timers");
  // An invalid address: the original fetch rejects it later without network access.
  if (throws(() => void fetch("").catch(() => undefined))) names.push("fetch");
  if (throws(() => fs.existsSync("."))) names.push("io");
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
