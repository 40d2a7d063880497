// What publint and are-the-types-wrong say of the tarball.

import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import type { Packed } from "./pack.ts";

/** ES modules alone: `require` loads them on every Node that we support, so types that say "ESM" are right. */
const EXPECTED_KINDS = ["CJSResolvesToESM"];
/** Resolution as before `exports`; nothing on Node 24 does it any more. */
const OLD_RESOLUTION = "node10";

export async function checkerProblems(packed: Packed): Promise<string[]> {
  const data = readFileSync(packed.tarball);
  const { messages, pkg } = await publint({ pack: { tarball: toBuffer(data) }, strict: true });
  const linted = messages
    .filter(({ type }) => type !== "suggestion")
    .map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`);

  const judged = await checkPackage(createPackageFromTarballData(data));
  if (judged.types === false) return [...linted, "are-the-types-wrong: it has no types"];
  const wrong = judged.problems
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
