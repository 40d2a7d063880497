// The commit, the versions and the machine of a run, for its report.

import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

export function hostFacts() {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", [...args], { encoding: "utf8", cwd: import.meta.dirname }).trim();
  const isChanged = git("status", "--porcelain") !== "";
  const [processor] = cpus();
  return {
    commit: `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`,
    node: process.versions.node,
    processor: processor?.model ?? "unknown",
    processors: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    at: new Date().toISOString(),
  };
}
