// The recording in docs/terminal.md matches the program's current output, except for times.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Handle } from "../../../src/index.ts";
import { projectRoot } from "../../support/source-files.ts";
import { Project, until } from "./support.ts";

const page = readFileSync(join(projectRoot, "docs/terminal.md"), "utf8");
const config = /```ts\n(?<text>.*?)```/s.exec(page)?.groups?.["text"] ?? "";
const recording = /```console\n(?<text>.*?)```/s.exec(page)?.groups?.["text"] ?? "";

/** One command and its output. */
const scenes = recording
  .split(/^\$ /m)
  .slice(1)
  .map((scene) => {
    const [command = "", ...shown] = scene.split("\n");
    return { command, shown: shown.join("\n") };
  });

test("the recorded commands still print the recorded output", async () => {
  const project = new Project({ "perdure.config.ts": config });
  expect(scenes.length).toBeGreaterThan(8);
  for (const { command, shown } of scenes) {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? "",
    );
    const instance = async (): Promise<Handle> => (await project.client()).get("order-7");
    if (words.at(-1) === "&") {
      const handle = await instance();
      project.start(words.slice(1, -1));
      await until(async () =>
        (await handle.describe()).waitingFor.some(({ kind }) => kind === "event"),
      );
      continue;
    }
    if (words[1] === "get" && shown.includes("completed")) {
      await (await instance()).result();
    }
    const { stdout, stderr, code } = await project.run(words.slice(1));
    expect({ command, code }).toEqual({ command, code: 0 });
    expect(masked(stdout + stderr)).toBe(masked(shown)); // a terminal shows both
  }
});

function masked(text: string): string {
  return text
    .replaceAll(/sqlite:\S*\//g, "sqlite:./")
    .replaceAll(/store\.db/g, "orders.db")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "DATE")
    .replaceAll(/\d+(?:\.\d+)?(?:ms|s|m)\b/g, "TIME")
    .replaceAll(/[█▒]+/g, "BAR")
    .replaceAll(/^(worker +)[0-9a-f]{16}$/gm, "$1ID")
    .replaceAll(/ {2,}/g, " ")
    .replaceAll(/ +BAR +/g, " BAR ")
    .trim();
}
