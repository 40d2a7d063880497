// The current dashboard, built once for all test files and again after its sources changed.

import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectRoot } from "../../../support/source-files.ts";
import { exclusively } from "./exclusively.ts";

const run = promisify(execFile);
const VITE = join(projectRoot, "node_modules", "vite", "bin", "vite.js");
const UI = join(projectRoot, "ui");
const CACHE = join(projectRoot, "node_modules", ".cache", "perdure-ui");

/** The folder to serve. */
export async function builtUi(): Promise<string> {
  const folder = join(CACHE, fingerprint());
  if (existsSync(folder)) return folder;
  return exclusively("ui-build", async () => {
    if (existsSync(folder)) return folder;
    rmSync(CACHE, { recursive: true, force: true });
    mkdirSync(CACHE, { recursive: true });
    const outDir = `${folder}.part`;
    // Like `npm run build -w ui`; the test run's NODE_ENV would make it a development build.
    const env = { ...process.env, NODE_ENV: "production" };
    await run(process.execPath, [VITE, "build", "--logLevel", "warn", "--outDir", outDir], {
      cwd: UI,
      env,
    });
    renameSync(outDir, folder);
    return folder;
  });
}

/** A hash of everything that goes into the bundle. */
function fingerprint(): string {
  const hash = createHash("sha256");
  const own = ["src/**/*.*", "public/*", "index.html", "vite.config.ts", "package.json"];
  const files = globSync(own, { cwd: UI }).map((file) => join(UI, file));
  const shared = [
    "src/flow/data/paths.ts",
    "src/core/history/awaited-event.ts",
    "src/core/ids/request-ids.ts",
    "src/core/ids/semver.ts",
    "src/core/define/stream.ts",
    "src/core/telemetry/log.ts",
  ];
  for (const file of [...files.sort(), ...shared.map((each) => join(projectRoot, each))]) {
    hash.update(file).update(readFileSync(file));
  }
  return hash.digest("hex").slice(0, 16);
}
