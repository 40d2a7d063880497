// An activity in a thread may say as much as it likes; the runtime hears as much as it can use.

import { expect, test } from "vitest";
import { VirtualEnvironment } from "../testing/virtual-environment.ts";
import { ThreadVoice } from "./thread-voice.ts";

function voice() {
  const environment = new VirtualEnvironment();
  const heard: (string | null)[] = [];
  const said = new ThreadVoice(environment, {
    heartbeat: (details) => void heard.push(details === null ? null : `beat ${details}`),
    progress: (value) => void heard.push(`progress ${value}`),
  });
  return { environment, heard, said };
}

test("the first goes at once, then one in fifty milliseconds: the newest (I12)", async () => {
  const { environment, heard, said } = voice();
  for (let i = 0; i < 1_000; i++) said.progress(`${i}`);
  expect(heard).toEqual(["progress 0"]);
  await environment.advance(50);
  expect(heard).toEqual(["progress 0", "progress 999"]);
  await environment.advance(1_000);
  expect(heard).toHaveLength(2);
  for (let i = 0; i < 100; i++) {
    said.progress(`${i}`);
    await environment.advance(10);
  }
  expect(heard.length).toBeLessThanOrEqual(2 + 21);
});

test("what waits goes with the end, once", async () => {
  const { environment, heard, said } = voice();
  said.heartbeat("1");
  said.heartbeat("2");
  said.progress("3");
  said.flush();
  await environment.advance(1_000);
  expect(heard).toEqual(["beat 1", "progress 3", "beat 2"]);
});

test("a beat without details forgets none that wait", async () => {
  const { environment, heard, said } = voice();
  said.heartbeat(null);
  said.heartbeat("row 7");
  said.heartbeat(null);
  await environment.advance(50);
  expect(heard).toEqual([null, "beat row 7"]);
});
