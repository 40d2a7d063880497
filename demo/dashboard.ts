// The dashboard of the demo, to watch the kills and the recovery.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Perdure } from "../src/index.ts";
import { serve, type Listening } from "../src/server/index.ts";
import { paint, type Screen } from "./screen.ts";

const BUILT = join(import.meta.dirname, "..", "dist", "ui", "index.html");

/** Prints the dashboard's address, if its pages are built. It is read-only, so that only the demo kills workers. */
export async function openDashboard(
  { client }: Perdure,
  screen: Screen,
): Promise<Listening | null> {
  if (!existsSync(BUILT)) {
    const hint = "To watch it in the dashboard: npm run build -w ui, then npm run demo again.";
    screen.plain(paint("dim", `  ${hint}\n`));
    return null;
  }
  const listening = await serve(client, {
    port: 0,
    readOnly: true,
    limits: { sampleMs: 500 },
    log: () => undefined,
  });
  const address = `${listening.url}/#token=${listening.token ?? ""}`;
  screen.plain(`  ${paint("bold", "dashboard")}  ${paint("cyan", address)}`);
  screen.plain();
  return listening;
}

/** On a terminal the dashboard stays open until Ctrl+C. */
export async function leaveOpen(listening: Listening | null, screen: Screen): Promise<void> {
  if (listening === null) return;
  if (process.stdout.isTTY === true) {
    screen.plain(paint("dim", "\n  The dashboard stays open; Ctrl+C ends it."));
    await new Promise((resolve) => process.once("SIGINT", resolve));
  }
  await listening.close();
}
