// The hello-world example prints what its README shows and stores its result in a file.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("hello-world");
  expect(printed).toBe(promisedOutput("hello-world"));
  expect(complaints).toBe("");
});

test("a second run on the same file prints the stored result without greeting again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-hello-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = join(folder, "hello.db");
  await runExample("hello-world", store);
  const { printed } = await runExample("hello-world", store);
  expect(printed).toBe("[ 'Hello, Ada', 'Hello, Grace', 'Hello, Barbara' ]");
});
