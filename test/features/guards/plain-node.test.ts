// The guards in plain Node: live bindings of named imports, and the limits that docs/determinism.md names.

import { execFile, spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { deterministicUuid } from "../../../src/core/replay/deterministic.ts";
import { projectRoot } from "../../support/source-files.ts";
import { temporaryFolder } from "../../faults/trouble/support.ts";

const program = join(projectRoot, "test/features/guards/programs/plain.ts");

interface Seen {
  readonly first: Readonly<Record<string, unknown>>;
  readonly started: { readonly seed: string };
  readonly after: string;
}

async function run(): Promise<{ seen: Seen; stdout: string }> {
  const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd: projectRoot });
  return { seen: JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Seen, stdout };
}

test("names imported from Node's modules are guarded and restored afterwards", async () => {
  const { seen } = await run();
  expect(seen.first).toMatchObject({
    uuid: deterministicUuid(seen.started.seed, 1, 2),
    getRandomValues: "GUARD_VIOLATION",
    randomBytes: "GUARD_VIOLATION",
    pause: "GUARD_VIOLATION",
    readFileSync: "GUARD_VIOLATION",
    directly: true,
  });
  expect(seen.after).toBe("allowed");
});

test("guards do not cover references taken before the runtime started, nor process.hrtime", async () => {
  const { seen } = await run();
  expect(seen.first).toMatchObject({
    cachedNow: false,
    cachedRandom: false,
    earlierClass: false,
    hrtime: "allowed",
  });
});

test("the guards do not affect the console, with output to a pipe or to a file", async () => {
  const line = "the console works in an orchestration";
  expect((await run()).stdout).toContain(line);
  const path = join(temporaryFolder(), "out");
  const file = openSync(path, "w");
  spawnSync(process.execPath, [program], { cwd: projectRoot, stdio: ["ignore", file, "ignore"] });
  closeSync(file);
  expect(readFileSync(path, "utf8")).toContain(line);
});
