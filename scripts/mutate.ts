// npm run mutate [-- --part NAME] [--concurrency N] [--force]: mutation testing. Stryker changes the source of a part in a
// thousand small ways, in a copy outside of the tree, and runs the part's tests on each. A mutant that no test detects
// is a gap in the tests or a change without effect.
//   - This command installs Stryker into its own folder. As a dependency of the project it would add 60 packages to
//        `npm ci`, most of which warn on an older Node.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "mutation", "stryker");

if (!existsSync(join(FOLDER, "node_modules"))) {
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", FOLDER]);
}
run(process.execPath, [join(FOLDER, "run.ts"), ...process.argv.slice(2)]);

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
