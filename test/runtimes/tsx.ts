// Runs the set-up for tsx of docs/typescript.md with the tsx of this folder.

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBounded } from "./bounded-process.ts";
import { FOLDER } from "./run-times.ts";

const ROOT = join(FOLDER, "../..");
const PRINTS = "charged 1200 EUR for order-1";

const folder = mkdtempSync(join(tmpdir(), "perdure-tsx-"));
try {
  cpSync(join(ROOT, "docs/typescript/tsx"), folder, { recursive: true });
  const linked = join(folder, "node_modules/perdure");
  mkdirSync(linked, { recursive: true });
  symlinkSync(join(ROOT, "src"), join(linked, "src"));
  const manifest = { name: "perdure", type: "module", exports: "./src/index.ts" };
  writeFileSync(join(linked, "package.json"), JSON.stringify(manifest));
  const tsx = join(FOLDER, "node_modules/tsx/dist/cli.mjs");
  const { text, code } = await runBounded(process.execPath, [tsx, "main.ts"], {
    cwd: folder,
    seconds: 120,
  });
  if (code !== 0 || text.trim() !== PRINTS) throw new Error(`tsx exited with ${code}:\n${text}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
