// The programs of README.md and of the walks behave as the pages show.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { writeBlock } from "./run-block.ts";
import { projectRoot } from "../support/source-files.ts";
import { until } from "../faults/trouble/support.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function run(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
  return stdout;
}

async function isWaiting(store: string): Promise<boolean> {
  const provider = await SqliteProvider.open(store);
  const { waitingFor } = await new Client(provider).get("order-7").describe();
  await provider.close();
  return waitingFor.some(({ kind }) => kind === "event");
}

test.each(["README.md", "docs/walks.md"])(
  "the order of %s is charged once, although its process is killed while it waits",
  async (page) => {
    const folder = temporaryFolder();
    writeBlock(page, "Perdure.open", join(folder, "order.ts"));

    const first = spawn(process.execPath, ["order.ts"], { cwd: folder });
    const [printed] = (await once(first.stdout.setEncoding("utf8"), "data")) as [string];
    expect(printed).toMatch(/^charging 4200 cents under \S+\n$/);
    await until("the order waits for its approval", () => isWaiting(join(folder, "orders.db")));
    first.kill("SIGKILL");
    await once(first, "close");

    const receipt = "receipt for 4200 cents, approved by ada\n";
    expect(await run(folder, "order.ts", "approve")).toBe(receipt);
    expect(await run(folder, "order.ts", "approve")).toBe(receipt);
    expect(await run(folder, "order.ts")).toBe(receipt);
  },
);

test("the program of docs/quick-start.md can run twice", async () => {
  const folder = temporaryFolder();
  const page = "docs/quick-start.md";
  mkdirSync(join(folder, "orchestrations"));
  writeBlock(page, 'orchestration("hello"', join(folder, "orchestrations/hello.ts"));
  writeBlock(page, "Perdure.open", join(folder, "main.ts"));
  const result = "{ greeting: 'Hello, Grace!', answer: 'hi' }\n";
  expect(await run(folder, "main.ts")).toBe(`greeting Grace\n${result}`);
  expect(await run(folder, "main.ts")).toBe(result);
});

/** The output of a command that docs/walks.md shows. */
function shownAfter(command: string): string {
  const [, rest = ""] = readFileSync(join(projectRoot, "docs/walks.md"), "utf8").split(
    `$ ${command}\n`,
  );
  return rest.split(/^(?:\$ .*|```)$/m)[0] ?? "";
}
const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

test.each([
  ["outage.ts", "the database goes down"],
  ["provider.ts", "the provider goes down"],
])("the program %s of docs/walks.md prints the output on the page", async (file, containing) => {
  const folder = temporaryFolder();
  writeBlock("docs/walks.md", containing, join(folder, file));
  expect(plain(await run(folder, file))).toBe(plain(shownAfter(`node ${file}`)));
});

test("a card of docs/walks.md is charged once, although the process dies after the charge", async () => {
  const folder = temporaryFolder();
  writeBlock("docs/walks.md", "charged before", join(folder, "twice.ts"));
  const masked = (text: string): string =>
    plain(text.replaceAll(/[0-9a-f]{32}/g, "KEY").replaceAll(/^(?:Killed|\[perdure\].*)$/gm, ""));

  const first = spawn(process.execPath, ["twice.ts", "die"], { cwd: folder });
  const [printed] = (await once(first.stdout.setEncoding("utf8"), "data")) as [string];
  await once(first, "close");
  expect(first.signalCode).toBe("SIGKILL");
  expect(masked(printed)).toBe(masked(shownAfter("node twice.ts die")));
  expect(masked(await run(folder, "twice.ts"))).toBe(masked(shownAfter("node twice.ts")));
  expect(await run(folder, "twice.ts")).toBe("receipt for 4200 cents\n");
  const charges = readFileSync(join(folder, "charges.log"), "utf8");
  expect(masked(charges)).toBe(masked(shownAfter("cat charges.log")));
});
