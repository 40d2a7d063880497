// Facts about the installed package: its version, and the folder of the dashboard.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of the built dashboard. */
export function uiFolder(): string {
  return join(packageRoot(), "dist", "ui");
}

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
    readonly version: string;
  };
  return manifest.version;
}

/** Both src/server and dist/server are two levels below it. A bundle of an application has no such place. */
function packageRoot(): string {
  return join(import.meta.dirname, "..", "..");
}
