// An activity in a thread may report at any rate; the runtime receives a limited rate.

import { expect, test } from "vitest";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";
import { ThreadReports } from "../../../../src/runtime/threads/thread-reports.ts";

function setup() {
  const environment = new VirtualEnvironment();
  const received: (string | null)[] = [];
  const reports = new ThreadReports(environment, {
    heartbeat: (details) => void received.push(details === null ? null : `beat ${details}`),
    progress: (value) => void received.push(`progress ${value}`),
  });
  return { environment, received, reports };
}

test("the first report is sent at once, then the newest report every fifty milliseconds (I12)", async () => {
  const { environment, received, reports } = setup();
  for (let i = 0; i < 1_000; i++) reports.progress(`${i}`);
  expect(received).toEqual(["progress 0"]);
  await environment.advance(50);
  expect(received).toEqual(["progress 0", "progress 999"]);
  await environment.advance(1_000);
  expect(received).toHaveLength(2);
  for (let i = 0; i < 100; i++) {
    reports.progress(`${i}`);
    await environment.advance(10);
  }
  expect(received.length).toBeLessThanOrEqual(2 + 21);
});

test("flush sends the waiting reports, once", async () => {
  const { environment, received, reports } = setup();
  reports.heartbeat("1");
  reports.heartbeat("2");
  reports.progress("3");
  reports.flush();
  await environment.advance(1_000);
  expect(received).toEqual(["beat 1", "progress 3", "beat 2"]);
});

test("a heartbeat without details does not discard details that wait", async () => {
  const { environment, received, reports } = setup();
  reports.heartbeat(null);
  reports.heartbeat("row 7");
  reports.heartbeat(null);
  await environment.advance(50);
  expect(received).toEqual([null, "beat row 7"]);
});
