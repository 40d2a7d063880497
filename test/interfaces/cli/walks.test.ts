// The walks of docs/walks.md that use the command line and the programs on the page: a worker that is gone, and a move from
// BullMQ.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findBlocks } from "../../support/doc-blocks.ts";
import { projectRoot } from "../../support/source-files.ts";
import { Project, until } from "./support.ts";

const path = "docs/walks.md";
const blocks = findBlocks({ path, text: readFileSync(join(projectRoot, path), "utf8") });

/** The block of the page that contains the text. */
function shown(text: string): string {
  const block = blocks.find(({ code }) => code.includes(text));
  if (block === undefined) throw new Error(`${path} has no block with ${text}`);
  return block.code;
}

test("a worker is gone at night: another one continues, and each account is settled under one key", async () => {
  const project = new Project({
    "perdure.config.ts": shown('orchestration("closing"').replace("3_000", "1_000"),
  });
  const first = project.start("worker");
  await first.says(/worker ready/);
  await project.run(["start", "closing", "--input", "2", "--id", "night-1"]);
  const [, key] = await first.says(/settling 1, attempt 1, key (\S+)/);
  first.kill("SIGKILL");
  await first.ended;

  await until(async () => {
    const { stdout } = await project.run("get night-1");
    return stdout.includes("its process is gone");
  });
  const second = project.start("worker");
  await second.says(/is gone; took over/);
  await second.says(new RegExp(`settling 1, attempt 2, key ${key}`));
  const { stdout } = await project.run("watch night-1");
  expect(stdout).toContain("2 accounts settled");
  second.kill("SIGTERM");
  expect(await second.ended).toBe(0);
});

test("I moved from BullMQ: jobs wait for a worker, are retried, and a failed one stays", async () => {
  const project = new Project({
    "jobs.ts": shown("global concurrency, limiter"),
    "perdure.config.ts": shown('import * as jobs from "./jobs.ts"').replace(
      "./jobs.db",
      "./store.db",
    ),
  });
  project.write("move.ts", shown("it registers nothing").replace("./jobs.db", "./store.db"));
  const { stdout } = await promisify(execFile)(process.execPath, ["move.ts"], {
    cwd: project.folder,
  });
  expect(stdout).toBe("5 jobs are in jobs.db\n");
  const worker = project.start("worker");
  await worker.says(/invoice to slow@example\.com, attempt 2/);
  await worker.says(/news to joe@example\.com, attempt 1/);
  await until(async () => {
    const { stdout } = await project.run("list --status failed");
    return stdout.includes("mail");
  });
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
});
