// On an older Node, the version check fails before anything else can.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { projectRoot } from "../support/source-files.ts";

test("importing the package on an older Node names the required version", async () => {
  const pretend = `Object.defineProperty(process.versions, "node", { value: "22.12.0" })`;
  const args = ["--import", `data:text/javascript,${pretend}`, "src/index.ts"];
  const run = promisify(execFile)(process.execPath, args, { cwd: projectRoot });
  await expect(run).rejects.toThrow("Perdure needs Node 24 or later; this is Node 22.12.0.");
});
