// Another version of Node, from the registry, for the duration of the test.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./run.ts";

/** Installs the newest Node of a major version below `folder`; returns the path of its binary. */
export async function otherNode(folder: string, version: string): Promise<string> {
  const place = join(folder, `node-${version}`);
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: "node", private: true }));
  const isWindows = process.platform === "win32";
  const name = `node-${isWindows ? "win" : process.platform}-${process.arch}`;
  await run(place, "npm", "install", "--no-audit", "--no-fund", `${name}@${version}`);
  return join(place, "node_modules", name, "bin", isWindows ? "node.exe" : "node");
}
