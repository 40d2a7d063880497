// The watcher sees a write to the log before its commit is visible, so it checks repeatedly.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { watchLog } from "../../../src/sqlite/notify/file-watch.ts";

test("a commit that becomes visible after its write to the log is noticed without another write", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-watch-"));
  const path = join(folder, "store.db");
  writeFileSync(`${path}-wal`, "");
  const environment = new VirtualEnvironment();
  const first = Promise.withResolvers<undefined>();
  const checks: number[] = [];
  const watch = watchLog(path, environment, () => {
    checks.push(environment.monotonic());
    first.resolve(undefined);
  });
  onTestFinished(() => {
    watch.close();
    rmSync(folder, { recursive: true });
  });
  const writtenAt = environment.monotonic();
  appendFileSync(`${path}-wal`, "a commit that is not synced yet");
  await first.promise;
  for (const afterMs of [5, 15, 40, 100, 250, 600]) {
    await environment.advance(writtenAt + afterMs - 1 - environment.monotonic());
    const before = checks.filter((at) => at > writtenAt + 2).length;
    await environment.advance(1);
    expect(checks.filter((at) => at > writtenAt + 2)).toHaveLength(before + 1);
  }
  const all = checks.length;
  await environment.advance(10_000);
  expect(checks).toHaveLength(all);
});
