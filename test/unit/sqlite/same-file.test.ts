// The file of an open store is deleted or replaced: every call fails instead of using the wrong file.

import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

async function setup() {
  const folder = mkdtempSync(join(tmpdir(), "perdure-same-file-"));
  const path = join(folder, "store.db");
  const environment = new VirtualEnvironment();
  const provider = await SqliteProvider.open(path, { environment });
  onTestFinished(async () => {
    await provider.close();
    rmSync(folder, { recursive: true });
  });
  await provider.commit([startItem({ id: "a" })]);
  return { path, environment, provider };
}

const LOST = { code: "STORE_UNAVAILABLE" };

test.each([
  ["deleted", "", "was deleted"],
  ["deleted", "-wal", "was deleted"],
  ["deleted", "-shm", "was deleted"],
  ["replaced", "", "was replaced by another file"],
  ["replaced", "-wal", "was replaced by another file"],
])("a store refuses all calls once its file was %s (store.db%s)", async (how, suffix, message) => {
  const { path, environment, provider } = await setup();
  const file = `${path}${suffix}`;
  if (how === "deleted") rmSync(file);
  else {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  }
  await environment.advance(1_000);
  await expect(provider.commit([startItem({ id: "b" })])).rejects.toMatchObject(LOST);
  await expect(provider.readInstance("a")).rejects.toMatchObject(LOST);
  await expect(provider.peek({ owner: "x" })).rejects.toThrow(message);
  await expect(provider.transact(() => null)).rejects.toMatchObject(LOST);
  expect(existsSync(file)).toBe(how === "replaced");
});

test("a store whose files are unchanged keeps working", async () => {
  const { environment, provider } = await setup();
  await environment.advance(1_000);
  expect(await provider.readInstance("a")).toMatchObject({ id: "a" });
});

test("a store in memory has no file to lose", async () => {
  const environment = new VirtualEnvironment();
  await using provider = Object.assign(await SqliteProvider.open(":memory:", { environment }), {
    [Symbol.asyncDispose]: () => provider.close(),
  });
  await environment.advance(1_000);
  expect(await provider.readInstance("a")).toBeNull();
});
