// npm run histories:record: writes the histories of test/histories/programs.ts under the package's version.
//   - An existing file is never overwritten: a recorded history stands for instances in production.
//   - Each written file is listed with its SHA-256, so that a later edit is detected.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatRecorded, recordHistory, TestEnvironment } from "../src/testing/index.ts";
import { PROGRAMS, type Program } from "../test/histories/programs.ts";

const root = join(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
};
const folder = join(root, "test", "histories", version);
const list = join(root, "test", "histories", "sha256.txt");
mkdirSync(folder, { recursive: true });

// A stack would contain paths of this machine.
Error.stackTraceLimit = 0;

let lines = existsSync(list) ? readFileSync(list, "utf8") : "";
for (const program of PROGRAMS) {
  if (lines.includes(` ${version}/${program.name}.`)) {
    console.log(`${program.name} was already recorded for ${version}`);
    continue;
  }
  const histories = await record(program);
  for (const { id, execution, text } of histories) {
    const part =
      histories.length === 1 ? "" : `.${id.replaceAll(/[^a-z0-9-]+/g, "_")}.${execution}`;
    const name = `${version}/${program.name}${part}.json`;
    writeFileSync(join(folder, "..", name), text, { flag: "wx" });
    lines += `${createHash("sha256").update(text).digest("hex")}  ${name}\n`;
    writeFileSync(list, lines);
    console.log(`${name}: ${text.length} characters`);
  }
}

interface Recorded {
  readonly id: string;
  readonly execution: number;
  readonly text: string;
}

/** Every execution of every instance that the program creates. */
async function record(program: Program): Promise<Recorded[]> {
  await using test = await TestEnvironment.create({ register: program.register });
  await program.run(test);
  const { items } = await test.client.list({}, { order: "oldest", limit: 1_000 });
  const found: Recorded[] = [];
  for (const { id } of items) {
    for (const { execution } of await test.client.get(id).executions()) {
      const recorded = await recordHistory(test.store, id, { execution });
      found.push({ id, execution, text: `${formatRecorded(recorded)}\n` });
    }
  }
  return found;
}
