// node scripts/test-package.ts: checks that the package is complete, small, and usable.
// It builds and packs a copy, checks the tarball, installs it into empty projects, runs hello world in each and uses
// all other features in one of them. `--node 26` uses another version of Node.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkerProblems } from "./package/checkers.ts";
import { contentProblems, UNPACKED_BYTES_MAX } from "./package/contents.ts";
import { otherNode } from "./package/other-node.ts";
import { pack } from "./package/pack.ts";
import { importTime, projectProblems } from "./package/projects.ts";
import { run } from "./package/run.ts";
import { oldNodeProblems, useProblems } from "./package/uses.ts";

const IMPORT_MS_GOAL = 60;
const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Parameters<
  typeof contentProblems
>[1];

const { values: options } = parseArgs({ options: { node: { type: "string" } } });

const packed = await pack(root);
try {
  const { files, packedBytes, unpackedBytes, folder, tarball } = packed;
  const size = `${kilobytes(unpackedBytes)} unpacked (at most ${kilobytes(UNPACKED_BYTES_MAX)})`;
  console.log(`${files.length} files, ${kilobytes(packedBytes)} packed, ${size}`);
  const node =
    options.node === undefined ? process.execPath : await otherNode(folder, options.node);
  console.log(`on Node ${(await run(folder, node, "--version")).trim()}`);
  const problems = [
    ...contentProblems(packed, manifest),
    ...(await checkerProblems(packed)),
    ...(await projectProblems(root, folder, tarball, node)),
    ...(await useProblems(root, join(folder, "esm"), node)),
    ...(await oldNodeProblems(folder, join(folder, "esm"))),
  ];
  for (const specifier of ["perdure", "perdure/sqlite"]) {
    const { wallMs, cpuMs } = await importTime(folder, specifier, node);
    const figures = `${wallMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms processor time`;
    console.log(`import "${specifier}": ${figures} (goal: ${IMPORT_MS_GOAL} ms)`);
  }
  for (const problem of problems) console.error(`✗ ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
  else
    console.log("hello world in ESM, CommonJS and TypeScript; entry points, crash, command line");
} finally {
  rmSync(packed.folder, { recursive: true, force: true });
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1_000).toLocaleString("en")} kB`;
}
