import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress } from "./progress.ts";
import { Screen } from "./screen.ts";

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

test("long work on a terminal has a bar, which is gone at the end", () => {
  const written = work(true, 100);
  expect(written).toContain("\r████████████░░░░░░░░░░░░ 5 of 10 paused");
  expect(written).toMatch(/\r +\r$/);
});

test("short work has none, and neither has work without a terminal", () => {
  expect(work(true, 10)).toBe("");
  expect(work(false, 1_000)).toBe("");
});
