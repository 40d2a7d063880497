// Checks the tarball with publint and are-the-types-wrong.

import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import type { Packed } from "./pack.ts";

/** The package has only ES modules: `require` loads them on every supported Node, so types that say "ESM" are right. */
const EXPECTED_KINDS = ["CJSResolvesToESM"];
/** Resolution from before `exports`; Node 24 no longer uses it. */
const OLD_RESOLUTION = "node10";

export async function checkerProblems(packed: Packed): Promise<string[]> {
  const data = readFileSync(packed.tarball);
  const { messages, pkg } = await publint({ pack: { tarball: toBuffer(data) }, strict: true });
  const linted = messages
    .filter(({ type }) => type !== "suggestion")
    .map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`);

  const result = await checkPackage(createPackageFromTarballData(data));
  if (result.types === false) return [...linted, "are-the-types-wrong: it has no types"];
  const wrong = result.problems
    .filter(({ kind }) => !EXPECTED_KINDS.includes(kind))
    .filter(
      (problem) => !("resolutionKind" in problem && problem.resolutionKind === OLD_RESOLUTION),
    )
    .map((problem) => `are-the-types-wrong: ${JSON.stringify(problem)}`);
  return [...linted, ...wrong];
}

function toBuffer(data: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(data.byteLength);
  new Uint8Array(copy).set(data);
  return copy;
}
