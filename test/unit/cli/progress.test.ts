import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress } from "../../../src/cli/text/progress.ts";
import { Screen } from "../../../src/cli/text/screen.ts";

let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function work(isTTY: boolean, stepMs: number): string {
  let written = "";
  const stream = { isTTY, columns: 80, write: (text: string) => (written += text) };
  const progress = new Progress(new Screen(stream, { NO_COLOR: "1" }), "paused", 10);
  for (let step = 0; step < 10; step++) {
    now += stepMs;
    progress.step();
  }
  progress.end();
  return written;
}

test("long work on a terminal shows a progress bar, and the end erases it", () => {
  const written = work(true, 100);
  expect(written).toContain("\r████████████░░░░░░░░░░░░ 5 of 10 paused");
  expect(written).toMatch(/\r +\r$/);
});

test("short work and work without a terminal show no progress bar", () => {
  expect(work(true, 10)).toBe("");
  expect(work(false, 1_000)).toBe("");
});
