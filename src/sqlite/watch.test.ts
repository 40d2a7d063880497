// A write to the log is seen before its commit: looks that find nothing are repeated.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { VirtualEnvironment } from "../testing/virtual-environment.ts";
import { watchLog } from "./watch.ts";

test("a commit that becomes visible after its write to the log is noticed without another write", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-watch-"));
  const path = join(folder, "store.db");
  writeFileSync(`${path}-wal`, "");
  const environment = new VirtualEnvironment();
  const first = Promise.withResolvers<undefined>();
  const looks: number[] = [];
  const watch = watchLog(path, environment, () => {
    looks.push(environment.monotonic());
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
    const before = looks.filter((at) => at > writtenAt + 2).length;
    await environment.advance(1);
    expect(looks.filter((at) => at > writtenAt + 2)).toHaveLength(before + 1);
  }
  const all = looks.length;
  await environment.advance(10_000);
  expect(looks).toHaveLength(all);
});
