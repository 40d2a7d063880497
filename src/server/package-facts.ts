// What the server needs to know of the package that it is a part of: its version, and where the dashboard is.

import { readFileSync } from "node:fs";
import { join } from "node:path";

// src/server and dist/server are both two folders below the root.
const ROOT = join(import.meta.dirname, "..", "..");

/** The dashboard as built. */
export function uiFolder(): string {
  return join(ROOT, "dist", "ui");
}

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return manifest.version;
}
