// Packs the project as it would be published, from a copy, so that no leftovers in dist/ get in.

import { cpSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { run } from "./run.ts";

export interface Packed {
  /** The path of the tarball. */
  readonly tarball: string;
  readonly folder: string;
  readonly files: readonly PackedFile[];
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}
export interface PackedFile {
  readonly path: string;
  readonly size: number;
}
interface PackReport {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly PackedFile[];
}

const LEFT_OUT = ["node_modules", "dist", ".git", "coverage"];

export async function pack(root: string): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-package-"));
  const copy = join(folder, "perdure");
  cpSync(root, copy, {
    recursive: true,
    filter: (source) => !LEFT_OUT.includes(relative(root, source).split(/[\\/]/).at(-1) ?? ""),
  });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  await run(copy, "npm", "run", "build");
  const printed = await run(copy, "npm", "pack", "--json", "--pack-destination", folder);
  const report = firstReport(JSON.parse(printed));
  return {
    folder,
    tarball: join(folder, report.filename),
    files: report.files,
    packedBytes: report.size,
    unpackedBytes: report.unpackedSize,
  };
}

/** npm reports a list of packages; newer versions report an object by name. */
function firstReport(printed: unknown): PackReport {
  const [report] = Object.values(printed as Record<string, PackReport>);
  if (report === undefined) throw new Error("npm pack reported nothing");
  return report;
}
