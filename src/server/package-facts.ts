// Facts about the installed package: its version, and the folder of the dashboard.

import { readFileSync } from "node:fs";
import { join } from "node:path";

// Both src/server and dist/server are two levels below the package root.
const ROOT = join(import.meta.dirname, "..", "..");

/** The folder of the built dashboard. */
export function uiFolder(): string {
  return join(ROOT, "dist", "ui");
}

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return manifest.version;
}
