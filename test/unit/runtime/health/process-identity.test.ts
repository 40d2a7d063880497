// Process identity: a process counts as dead only with evidence. A process that /proc hides is not evidence of a death.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  isCertainlyGone,
  ownIdentity,
  type ProcessHost,
} from "../../../../src/runtime/health/process-identity.ts";

const OWN = { bootId: "boot", pidNamespace: "pid:[1]", pid: 10, startTime: "100" };
const OTHER = { ...OWN, pid: 20, startTime: "200" };

function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}
function stat(pid: number, state: string, startTime: string): string {
  return `${pid} (node (x) y) ${state} ${"0 ".repeat(18)}${startTime} 0 0`;
}
function host(given: Partial<ProcessHost>): ProcessHost {
  return { probe: () => undefined, read: failing("ENOENT"), ...given };
}

test("a process that /proc hides is not gone", () => {
  expect(isCertainlyGone(OTHER, OWN, host({}))).toBe(false);
  expect(isCertainlyGone(OTHER, OWN, host({ probe: failing("EPERM") }))).toBe(false);
  expect(isCertainlyGone(OTHER, OWN, host({ probe: failing("EINVAL") }))).toBe(false);
});

test("a pid unknown to the kernel is gone, independent of /proc", () => {
  expect(isCertainlyGone(OTHER, OWN, host({ probe: failing("ESRCH") }))).toBe(true);
});

test("a pid that belongs to another process or to a zombie now is gone", () => {
  const shows = (text: string): ProcessHost => host({ read: () => text });
  expect(isCertainlyGone(OTHER, OWN, shows(stat(20, "S", "200")))).toBe(false);
  expect(isCertainlyGone(OTHER, OWN, shows(stat(20, "S", "999")))).toBe(true);
  expect(isCertainlyGone(OTHER, OWN, shows(stat(20, "Z", "200")))).toBe(true);
});

test("a different boot, a different pid namespace and a missing identity prove nothing", () => {
  const gone = host({ probe: failing("ESRCH") });
  expect(isCertainlyGone({ ...OTHER, bootId: "x" }, OWN, gone)).toBe(false);
  expect(isCertainlyGone({ ...OTHER, pidNamespace: "x" }, OWN, gone)).toBe(false);
  expect(isCertainlyGone(null, OWN, gone)).toBe(false);
  expect(isCertainlyGone(OTHER, null, gone)).toBe(false);
});

test("a /proc of another pid namespace gives no identity", () => {
  const read = (path: string): string =>
    path.endsWith("/stat") ? stat(process.pid + 1, "S", "100") : "boot";
  expect(ownIdentity(host({ read }))).toBeNull();
});

test.runIf(ownIdentity() !== null)("a real process is gone once it has ended", async () => {
  const own = ownIdentity();
  if (own === null) throw new Error("no identity");
  expect(own.pid).toBe(process.pid);
  expect(isCertainlyGone(own, own)).toBe(false);
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  if (child.pid === undefined) throw new Error("no pid");
  const identity = { ...own, pid: child.pid, startTime: startTimeOf(child.pid) };
  expect(isCertainlyGone(identity, own)).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isCertainlyGone(identity, own)).toBe(true);
});

function startTimeOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
