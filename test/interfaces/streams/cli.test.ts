// perdure streams, stream and trim: their output, their JSON and their exit codes.

import { expect, test } from "vitest";
import * as v from "valibot";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { streamInfo } from "../../../src/server/schemas/streams.ts";
import { Project } from "../cli/support.ts";

const flaky = activity("flaky", async (_input: undefined, { stream, attempt }) => {
  const out = stream("tokens");
  await out.write({ text: `try ${attempt}` });
  await out.flush();
  if (attempt === 1) throw new Error("again");
});
const chat = orchestration("chat", async (ctx) => {
  ctx.stream("notes").write(new Date(0));
  ctx.stream("notes").close();
  await ctx.run(flaky, undefined, { attempts: 2 });
  await ctx.waitFor("go");
  ctx.stream("tokens").write("last");
});
const options = { register: [chat, flaky], runtime: { log: () => undefined } };

/** "chat-1" waits for an event after its activity has succeeded at its second attempt. */
async function written(): Promise<Project> {
  const project = new Project();
  const perdure = await Perdure.open(`sqlite:${project.file}`, options);
  const handle = await perdure.client.start(chat, undefined, { id: "chat-1" });
  for await (const { waitingFor } of handle.watch()) {
    if (waitingFor.some(({ kind }) => kind === "event")) break;
  }
  await perdure.close();
  return project;
}

test("streams lists the streams of an instance", async () => {
  const project = await written();
  const { code, stdout } = await project.run("streams chat-1");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^NAME +FIRST +NEXT +STATE +UPDATED\n/);
  expect(stdout).toMatch(/notes +0 +1 +closed/);
  expect(stdout).toMatch(/tokens +0 +3 +open/);
  const json = (await project.run("streams chat-1 --json")).json<{ streams: unknown[] }>();
  expect(v.parse(v.array(streamInfo), json.streams).map(({ name }) => name)).toEqual([
    ...["notes", "tokens"],
  ]);
  expect((await project.run("streams none")).code).toBe(3);
});

test("stream shows a closed stream and exits", async () => {
  const project = await written();
  const { code, stdout } = await project.run("stream chat-1 notes");
  expect([code, stdout]).toEqual([0, "0  1970-01-01T00:00:00.000Z\nend\n"]);
  const records = (await project.run("stream chat-1 notes --json")).records();
  expect(records).toEqual([
    { kind: "item", offset: 0, call: 0, value: { $perdure: ["~d", 0] } },
    { kind: "end" },
  ]);
});

test("stream follows a live stream until its instance ends", async () => {
  const project = await written();
  const all = project.start("stream chat-1 tokens --json");
  const settled = project.start("stream chat-1 tokens --settled --from 1 --json");
  await all.says(/try 2/);
  await settled.says(/try 2/);
  const perdure = await Perdure.open(`sqlite:${project.file}`, options);
  await perdure.client.raise("chat-1", "go");
  expect([await all.ended, await settled.ended]).toEqual([0, 0]);
  await perdure.close();
  const records = (text: string): unknown[] =>
    text
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
  const call = 2;
  const last = [
    { kind: "item", offset: 2, call, value: { text: "try 2" } },
    { kind: "item", offset: 3, call: 0, value: "last" },
    { kind: "end" },
  ];
  expect(records(all.stdout())).toEqual([
    { kind: "item", offset: 0, call, value: { text: "try 1" } },
    { kind: "reset", offset: 1, call, from: 0 },
    ...last,
  ]);
  expect(records(settled.stdout())).toEqual(last);
  const text = await project.run("stream chat-1 tokens");
  expect(text.stdout).toContain("1  call 2 runs again: its items from offset 0 on are void\n");
});

test("Ctrl+C stops a stream that waits", async () => {
  const project = await written();
  const reading = project.start("stream chat-1 tokens");
  await reading.says(/try 2/);
  reading.kill("SIGINT");
  expect(await reading.ended).toBe(130);
});

test("a missing instance, and wrong offsets and names, have their exit codes", async () => {
  const project = await written();
  for (const [line, code, text] of [
    ["stream none tokens", 3, "INSTANCE_NOT_FOUND"],
    ["stream chat-1 notes --from 7", 2, "from 0 to 1"],
    ["stream chat-1 notes --from -1", 2, "whole number"],
    ["stream chat-1 perdure.x", 2, "INVALID_ARGUMENT"],
  ] as const) {
    const ran = await project.run(line);
    expect([line, ran.code]).toEqual([line, code]);
    expect(ran.stderr).toContain(text);
  }
});

test("trim asks first, deletes, and reports how many entries", async () => {
  const project = await written();
  const asked = await project.run("trim chat-1 tokens --before 2");
  expect([asked.code, asked.stderr]).toEqual([
    9,
    expect.stringContaining('Delete 2 entries of stream "tokens" of chat-1?') as string,
  ]);
  const trimmed = await project.run("trim chat-1 tokens --before 2 --yes");
  expect([trimmed.code, trimmed.stdout]).toEqual([
    0,
    '✓ 2 entries of stream "tokens" of chat-1 deleted\n',
  ]);
  const again = await project.run("trim chat-1 tokens --before 2 --yes --json");
  expect(again.json()).toEqual({ id: "chat-1", stream: "tokens", before: 2, deleted: 0 });
  expect((await project.run("trim chat-1 none --before 2 --yes")).code).toBe(3);
  expect((await project.run("trim chat-1 tokens --yes")).code).toBe(2);
  const beyond = await project.run("trim chat-1 tokens --before 100 --yes");
  expect(beyond.stdout).toBe('✓ 1 entry of stream "tokens" of chat-1 deleted\n');
});
